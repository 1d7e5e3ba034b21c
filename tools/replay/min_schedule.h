// Which chunks keep their place after each use in a schedule with the fewest fetches (bound.h): L.
// A. Belady's MIN with bypass, on whole pieces of work. Where too much would keep its place, what
// is needed last does not. With chunks of several sizes it is a good schedule, not the best.
//
// Immutable once made; any thread may read it. Takes 4 bytes an access, and at first a few more
// for each place that is kept.
#ifndef VRAMSPAN_TOOLS_REPLAY_MIN_SCHEDULE_H_
#define VRAMSPAN_TOOLS_REPLAY_MIN_SCHEDULE_H_

#include <cstdint>
#include <vector>

#include "tools/replay/chunked_run.h"

namespace vramspan::replay {

class MinSchedule {
 public:
  // REQUIRES: works come in the order of the steps, fewer than 2^32 accesses.
  MinSchedule(const ChunkedRun& run, Bytes device_memory);

  // Whether the chunk that is number `use` in the work's set keeps its place up to its next use.
  bool Keeps(uint32_t work, size_t use) const { return keeps_[first_[work] + use]; }
  // Whether it keeps it from its allocation to its first use.
  bool KeepsFirst(ChunkIndex chunk) const { return keeps_first_[chunk.value]; }
  // The work that uses it next, or kNotAgain.
  static constexpr uint32_t kNotAgain = ~uint32_t{0};
  uint32_t NextUse(uint32_t work, size_t use) const { return next_[first_[work] + use]; }
  uint32_t FirstUse(ChunkIndex chunk) const { return first_use_[chunk.value]; }
  uint64_t fetches() const { return fetches_; }

 private:
  std::vector<uint64_t> first_;  // By work.
  std::vector<bool> keeps_;
  std::vector<bool> keeps_first_;
  std::vector<uint32_t> next_;       // By access.
  std::vector<uint32_t> first_use_;  // By chunk.
  uint64_t fetches_ = 0;
};

}  // namespace vramspan::replay

#endif  // VRAMSPAN_TOOLS_REPLAY_MIN_SCHEDULE_H_
