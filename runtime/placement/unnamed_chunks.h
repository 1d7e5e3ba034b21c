// Chunks on the device that can be moved and that no work of the look-ahead names: they leave
// before all that some work names, but for such as are empty (empty_idle.h). Kept as works and
// chunks change, so that a plan finds them without a look at the others. Chunks to keep are not
// among them.
//
// Metadata: 8 bytes a chunk. Pure. Threads: not safe.
#ifndef VRAMSPAN_RUNTIME_PLACEMENT_UNNAMED_CHUNKS_H_
#define VRAMSPAN_RUNTIME_PLACEMENT_UNNAMED_CHUNKS_H_

#include <absl/types/span.h>

#include <cstdint>
#include <limits>
#include <vector>

#include "runtime/placement/empty_idle.h"
#include "runtime/placement/seen_chunk.h"

namespace vramspan {

class UnnamedChunks {
 public:
  // No work names it, and it is as was seen; or some work names it, or it is about to change.
  // REQUIRES: what is removed was added, as it was seen then.
  void Add(ChunkIndex chunk, const SeenChunk& seen);
  void Remove(ChunkIndex chunk, const SeenChunk& seen);

  // Those that may leave now and have an ordinary claim, in any order.
  absl::Span<const ChunkIndex> idle() const { return idle_; }
  bool IsIdle(ChunkIndex chunk) const {
    return chunk.value < place_.size() && place_[chunk.value] != kNone;
  }
  uint64_t idle_bytes() const { return idle_bytes_; }
  uint64_t busy_bytes() const { return busy_bytes_; }
  // How many may leave now and have no claim.
  uint32_t unclaimed() const { return unclaimed_; }

 private:
  static constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();

  static bool Counts(const SeenChunk& seen) {
    return seen.on_device() && seen.movable() && seen.claim() != Claim::kKeep &&
           !EmptyIdle::Counts(seen);
  }

  std::vector<ChunkIndex> idle_;
  std::vector<uint32_t> place_;  // By chunk: in idle_.
  uint64_t idle_bytes_ = 0, busy_bytes_ = 0;
  uint32_t unclaimed_ = 0;
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_PLACEMENT_UNNAMED_CHUNKS_H_
