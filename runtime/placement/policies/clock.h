// Clock, one reference bit a chunk: a hand goes round, takes the first chunk whose bit is clear and
// clears the bits it passes (F. J. Corbato, "A paging experiment with the Multics system", MIT
// Project MAC report MAC-M-384, 1968). Near LRU, and a use costs one store.
//
// The clock is kept as a list that starts at the hand; to pass a chunk is to move it to the end.
// Offering moves no hand and clears no bit, so planning often does not age anything: the hand moves
// when a chunk really leaves, as far as it would have gone to find that chunk. Chunks that could
// not be taken (busy, or named by the queue) stop it until they are used again or leave.
#ifndef VRAMSPAN_RUNTIME_PLACEMENT_POLICIES_CLOCK_H_
#define VRAMSPAN_RUNTIME_PLACEMENT_POLICIES_CLOCK_H_

#include <cstdint>
#include <vector>

#include "runtime/placement/policies/chunk_list.h"
#include "runtime/placement/policy.h"

namespace vramspan {

class ClockPolicy final : public EvictionPolicy {
 public:
  std::string_view name() const override { return "clock"; }
  // The bit starts clear: coming to the device is not a use, the work it came for is.
  void OnInsert(ChunkIndex chunk) override;
  void OnUse(ChunkIndex chunk) override;
  void OnRemove(ChunkIndex chunk) override;
  void OfferVictims(absl::FunctionRef<bool(ChunkIndex)> take) override;

 private:
  // Takes the hand past the used chunks before it. REQUIRES: a chunk that is not used.
  void Advance();
  void ClearAll();

  ChunkList order_;            // From the hand on.
  std::vector<uint8_t> used_;  // The reference bit, by chunk.
  uint32_t present_ = 0;
  uint32_t used_count_ = 0;
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_PLACEMENT_POLICIES_CLOCK_H_
