// S3-FIFO: three queues that are only ever left at the front. What comes enters a small one, a
// tenth of all; if it was used again before its turn there it moves to the main one, else it leaves
// and is remembered for a while, and enters the main queue when it comes back meanwhile. The main
// queue goes round: what was used since its last turn gets another (J. Yang, Y. Zhang, Z. Qiu,
// Y. Yue, K. V. Rashmi, "FIFO Queues are All You Need for Cache Eviction", SOSP 2023, Algorithm 1).
// A scan passes through the small queue and does no harm.
//
// The use for which a chunk came is its miss; those after it are counted, up to three. The room is
// taken to be the chunks that are there when one leaves. One leaves at a time: where moving a chunk
// to the main queue leaves the small one short, the main queue gives the victim; the paper would
// take one of each. The queues turn when a chunk really leaves, as far as they would have to find
// it; of further victims in one offer, chunks that would move to the main queue come once that has
// no unused ones. A chunk that was freed is remembered as well: its index may then enter the main
// queue at once, which costs its place there, no more.
//
// Metadata: 9 bytes a chunk.
#ifndef VRAMSPAN_RUNTIME_PLACEMENT_POLICIES_S3FIFO_H_
#define VRAMSPAN_RUNTIME_PLACEMENT_POLICIES_S3FIFO_H_

#include <cstdint>
#include <vector>

#include "runtime/placement/policies/chunk_lists.h"
#include "runtime/placement/policy.h"

namespace vramspan {

class S3FifoPolicy final : public EvictionPolicy {
 public:
  std::string_view name() const override { return "s3fifo"; }
  void OnInsert(ChunkIndex chunk) override;
  void OnUse(ChunkIndex chunk) override;
  void OnRemove(ChunkIndex chunk) override;
  void OfferVictims(absl::FunctionRef<bool(ChunkIndex)> take) override;

 private:
  enum Queue : uint8_t { kSmall, kMain, kGhost, kNone };
  struct Entry {
    uint8_t queue : 4 = kNone;
    uint8_t uses : 4 = 0;  // The first is the miss; up to 1 + 3.

    uint32_t frequency() const { return uses == 0 ? 0 : uses - 1; }
  };

  bool Present(ChunkIndex chunk) const {
    return chunk.value < entries_.size() && entries_[chunk.value].queue <= kMain;
  }
  uint32_t Frequency(ChunkIndex chunk) const { return entries_[chunk.value].frequency(); }
  // Turns the queues until the victim is at the front of its own. REQUIRES: that one is there.
  void Advance();
  void Remember(ChunkIndex chunk, uint32_t most);
  // Until `take` takes one, from `c` on, those of this frequency; true if it did.
  bool OfferUsed(ChunkIndex c, uint32_t frequency, absl::FunctionRef<bool(ChunkIndex)> take);

  ChunkLists queues_{3};
  std::vector<Entry> entries_;
  uint32_t small_ = 0;
  uint32_t present_ = 0;
  uint32_t ghosts_ = 0;
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_PLACEMENT_POLICIES_S3FIFO_H_
