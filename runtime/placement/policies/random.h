// Any chunk may leave, each with the same chance. Knows nothing and so cannot be fooled: on a cycle
// larger than the room it keeps a part of it where fifo and lru keep nothing. GPUswap evicts this
// way (J. Kehne, J. Metter, F. Bellosa, "GPUswap: Enabling Oversubscription of GPU Memory through
// Transparent Swapping", VEE 2015).
#ifndef VRAMSPAN_RUNTIME_PLACEMENT_POLICIES_RANDOM_H_
#define VRAMSPAN_RUNTIME_PLACEMENT_POLICIES_RANDOM_H_

#include <cstdint>
#include <vector>

#include "runtime/placement/policy.h"

namespace vramspan {

class RandomPolicy final : public EvictionPolicy {
 public:
  explicit RandomPolicy(uint64_t seed) : state_(seed) {}

  std::string_view name() const override { return "random"; }
  void OnInsert(ChunkIndex chunk) override;
  void OnUse(ChunkIndex) override {}
  void OnRemove(ChunkIndex chunk) override;
  // From the seed: two offers in a row differ.
  bool Draws() const override { return true; }
  void OfferVictims(absl::FunctionRef<bool(ChunkIndex)> take) override;

 private:
  // Uniform enough below `bound`, and the same on every machine.
  uint32_t Draw(uint32_t bound);
  void Swap(uint32_t a, uint32_t b);

  uint64_t state_;
  std::vector<ChunkIndex> present_;
  std::vector<uint32_t>
      place_;  // By chunk: its index in `present_` plus one, 0 when it is not there.
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_PLACEMENT_POLICIES_RANDOM_H_
