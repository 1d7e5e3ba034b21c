// Chunks on the device that hold nothing and may leave now: to give one up costs no copy, and none
// when it comes back. Kept as chunks change.
//
// Metadata: 4 bytes a chunk. Pure. Threads: not safe.
#ifndef VRAMSPAN_RUNTIME_PLACEMENT_EMPTY_IDLE_H_
#define VRAMSPAN_RUNTIME_PLACEMENT_EMPTY_IDLE_H_

#include <absl/types/span.h>

#include <cstdint>
#include <limits>
#include <vector>

#include "runtime/base/grow.h"
#include "runtime/placement/seen_chunk.h"

namespace vramspan {

class EmptyIdle {
 public:
  static bool Counts(const SeenChunk& seen) {
    return seen.empty() && seen.on_device() && seen.movable() && !seen.busy() &&
           seen.claim() == Claim::kOrdinary;
  }
  // The chunk is seen otherwise than before.
  void Saw(ChunkIndex chunk, const SeenChunk& before, const SeenChunk& now) {
    if (Counts(before) == Counts(now)) return;
    Counts(now) ? Add(chunk) : Remove(chunk);
  }
  absl::Span<const ChunkIndex> chunks() const { return chunks_; }  // In any order.

 private:
  static constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();

  void Add(ChunkIndex chunk) {
    if (chunk.value >= place_.size()) GrowTo(place_, size_t{chunk.value} + 1, kNone);
    place_[chunk.value] = static_cast<uint32_t>(chunks_.size());
    chunks_.push_back(chunk);
  }
  void Remove(ChunkIndex chunk) {
    // The last takes its place.
    const ChunkIndex last = chunks_.back();
    chunks_[place_[chunk.value]] = last;
    place_[last.value] = place_[chunk.value];
    chunks_.pop_back();
  }

  std::vector<ChunkIndex> chunks_;
  std::vector<uint32_t> place_;  // By chunk: in chunks_.
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_PLACEMENT_EMPTY_IDLE_H_
