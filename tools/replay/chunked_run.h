// A recorded run cut into chunks of one choice of sizes, as the runtime would cut it: what replay
// and the curves walk over.
//
// Every allocation of more than 1 MiB gets chunks of its own, ids from 1 on, never used twice.
// Smaller ones are packed by the runtime and stay on the device: they are counted (packed_bytes),
// not cut.
#ifndef VRAMSPAN_TOOLS_REPLAY_CHUNKED_RUN_H_
#define VRAMSPAN_TOOLS_REPLAY_CHUNKED_RUN_H_

#include <absl/types/span.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "runtime/base/units.h"
#include "runtime/scheduler/work.h"
#include "runtime/space/small_objects.h"
#include "tools/replay/recorded_run.h"

namespace vramspan::replay {

class KnownSets;

class ChunkedRun {
 public:
  // `run` outlives this. `chunk_log2`: 21 to 26, or 0 for sizes chosen by request, then no larger
  // than leaves `device_memory` 32 of them. The same whatever the budget where it is not 0.
  ChunkedRun(const RecordedRun* run, int chunk_log2, Bytes device_memory);
  ~ChunkedRun();

  const RecordedRun& run() const { return *run_; }
  // One more than the highest id.
  uint32_t end() const { return static_cast<uint32_t>(log2_.size()); }
  Bytes size(ChunkIndex c) const { return ChunkBytes(log2_[c.value]); }
  uint32_t allocation(ChunkIndex c) const { return allocation_[c.value]; }
  // The chunk's start in its allocation.
  Bytes offset(ChunkIndex c) const;
  // The chunks of an allocation are first, first + 1, ...; none for a packed one.
  ChunkIndex first(uint32_t allocation) const { return ChunkIndex(first_[allocation]); }
  uint32_t count(uint32_t allocation) const { return first_[allocation + 1] - first_[allocation]; }
  // In order of their first mention by the set's ranges. Touched `once`: where that is exact.
  absl::Span<const ChunkUse> uses(uint32_t set) const {
    return absl::MakeConstSpan(uses_).subspan(set_first_[set],
                                              set_first_[set + 1] - set_first_[set]);
  }
  // The same, of the ids alone.
  absl::Span<const ChunkIndex> chunks(uint32_t set) const {
    return absl::MakeConstSpan(ids_).subspan(set_first_[set],
                                             set_first_[set + 1] - set_first_[set]);
  }
  // Calls `visit` with each chunk that the range lies in, in their order.
  template <typename Visit>
  void ForEachChunk(const RecordedRange& r, Visit visit) const;
  // Sequence's hash of its uses.
  uint64_t hash(uint32_t set) const { return hashes_[set]; }
  // What launches may touch beside; found by the first who asks. Threads: any.
  const KnownSets& known(bool loose) const;
  static bool Packed(Bytes size) { return size <= SmallObjects::kMaxSmall; }

 private:
  const RecordedRun* run_;
  std::vector<uint8_t> log2_;         // By chunk.
  std::vector<uint32_t> allocation_;  // By chunk.
  std::vector<uint32_t> first_;       // By allocation, and one more.
  std::vector<size_t> set_first_;     // By set, and one more.
  std::vector<ChunkUse> uses_;
  std::vector<ChunkIndex> ids_;
  std::vector<uint64_t> hashes_;  // By set.
  struct Known {
    std::once_flag found;
    std::unique_ptr<const KnownSets> sets;
  };
  mutable std::array<Known, 2> known_;  // By `loose`.
};

template <typename Visit>
void ChunkedRun::ForEachChunk(const RecordedRange& r, Visit visit) const {
  if (count(r.allocation) == 0 || r.size == 0) return;
  const uint32_t first = first_[r.allocation];
  // Chunks of an allocation never grow, so the first one's size gets near.
  uint32_t c = first + static_cast<uint32_t>(
                           std::min<uint64_t>(r.offset >> log2_[first], count(r.allocation) - 1));
  while (offset(ChunkIndex(c)) > Bytes(r.offset)) --c;
  while (offset(ChunkIndex(c)) + size(ChunkIndex(c)) <= Bytes(r.offset)) ++c;
  for (; c < first_[r.allocation + 1] && offset(ChunkIndex(c)) < Bytes(r.offset + r.size); ++c) {
    visit(ChunkIndex(c));
  }
}

}  // namespace vramspan::replay

#endif  // VRAMSPAN_TOOLS_REPLAY_CHUNKED_RUN_H_
