// First in, first out: what has been on the device longest leaves first, used or not.
// Compared with random and MIN in L. A. Belady, "A study of replacement algorithms for a
// virtual-storage computer", IBM Systems Journal 5(2), 1966; more room can mean more misses
// (Belady, Nelson, Shedler, "An anomaly in space-time characteristics of certain programs running
// in a paging machine", CACM 12(6), 1969).
#ifndef VRAMSPAN_RUNTIME_PLACEMENT_POLICIES_FIFO_H_
#define VRAMSPAN_RUNTIME_PLACEMENT_POLICIES_FIFO_H_

#include "runtime/placement/policies/chunk_list.h"
#include "runtime/placement/policy.h"

namespace vramspan {

class FifoPolicy final : public EvictionPolicy {
 public:
  std::string_view name() const override { return "fifo"; }
  void OnInsert(ChunkIndex chunk) override;
  void OnUse(ChunkIndex) override {}
  void OnRemove(ChunkIndex chunk) override;
  void OfferVictims(absl::FunctionRef<bool(ChunkIndex)> take) override;

 private:
  ChunkList order_;  // Oldest first.
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_PLACEMENT_POLICIES_FIFO_H_
