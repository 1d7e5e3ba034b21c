// Least recently used: the past stands in for the future. A stack algorithm, so more room never
// means more misses (R. L. Mattson, J. Gecsei, D. R. Slutz, I. L. Traiger, "Evaluation techniques
// for storage hierarchies", IBM Systems Journal 9(2), 1970); it rests on locality (P. J. Denning,
// "The working set model for program behavior", CACM 11(5), 1968), and a cycle larger than the room
// defeats it: each chunk leaves just before it is needed.
#ifndef VRAMSPAN_RUNTIME_PLACEMENT_POLICIES_LRU_H_
#define VRAMSPAN_RUNTIME_PLACEMENT_POLICIES_LRU_H_

#include "runtime/placement/policies/chunk_list.h"
#include "runtime/placement/policy.h"

namespace vramspan {

class LruPolicy final : public EvictionPolicy {
 public:
  std::string_view name() const override { return "lru"; }
  void OnInsert(ChunkIndex chunk) override;
  void OnUse(ChunkIndex chunk) override;
  void OnRemove(ChunkIndex chunk) override;
  void OfferVictims(absl::FunctionRef<bool(ChunkIndex)> take) override;

 private:
  ChunkList order_;  // Least recently used first.
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_PLACEMENT_POLICIES_LRU_H_
