// Least frequently used, with ageing. The chunk with the fewest uses since it came leaves; among
// equals the one that has had that count longest. Plain counts never forget, so what was busy once
// would stay for good: after ten uses for each chunk on the device all counts are halved, as
// J. T. Robinson and M. V. Devarakonda keep a bound on their average ("Data cache management using
// frequency-based replacement", SIGMETRICS 1990) and G. Einziger, R. Friedman and B. Manes reset
// theirs ("TinyLFU: A Highly Efficient Cache Admission Policy", ACM Transactions on Storage 13(4),
// 2017). One list for each count makes a use O(1) (K. Shah, A. Mitra, D. Matani, "An O(1) algorithm
// for implementing the LFU cache eviction scheme", 2010); halving is O(1) a use, amortised.
//
// Counts end at 63: with ten uses a chunk between halvings that is far above the average. What
// leaves is forgotten. Metadata: 9 bytes a chunk.
#ifndef VRAMSPAN_RUNTIME_PLACEMENT_POLICIES_LFU_H_
#define VRAMSPAN_RUNTIME_PLACEMENT_POLICIES_LFU_H_

#include <cstdint>
#include <vector>

#include "runtime/placement/policies/chunk_lists.h"
#include "runtime/placement/policy.h"

namespace vramspan {

class LfuPolicy final : public EvictionPolicy {
 public:
  static constexpr uint32_t kMostUses = 63;
  static constexpr uint64_t kUsesPerChunk = 10;  // Between halvings.

  std::string_view name() const override { return "lfu"; }
  void OnInsert(ChunkIndex chunk) override;
  void OnUse(ChunkIndex chunk) override;
  void OnRemove(ChunkIndex chunk) override;
  void OfferVictims(absl::FunctionRef<bool(ChunkIndex)> take) override;

 private:
  void Halve();

  ChunkLists by_uses_{kMostUses + 1};  // In each, longest there first.
  std::vector<uint8_t> uses_;          // By chunk.
  uint32_t present_ = 0;
  uint64_t since_halved_ = 0;  // Uses.
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_PLACEMENT_POLICIES_LFU_H_
