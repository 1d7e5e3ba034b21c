// Times for runs of which nobody measured any: about what an H100 and a Python program make of
// them. Whoever uses them says so in RecordedSetting::estimated_times.
#ifndef VRAMSPAN_TOOLS_REPLAY_ESTIMATED_TIMES_H_
#define VRAMSPAN_TOOLS_REPLAY_ESTIMATED_TIMES_H_

#include <algorithm>
#include <cstdint>

#include "tools/replay/recorded_run.h"

namespace vramspan::replay {

// Nanoseconds for work that touches so many bytes of device memory: 2.5 TB/s, and 2 us at least.
inline uint64_t EstimatedTime(uint64_t bytes) { return std::max<uint64_t>(2'000, bytes / 2'500); }

// One piece of work after another: launched 8 us after the one before, it runs 4 us later or when
// that has ended.
class EstimatedClock {
 public:
  void Stamp(uint64_t duration, RecordedWork* work) {
    work->submitted = submitted_;
    work->start = std::max(end_, submitted_ + 4'000);
    work->end = end_ = work->start + duration;
    submitted_ += 8'000;
  }

 private:
  uint64_t submitted_ = 0;
  uint64_t end_ = 0;
};

}  // namespace vramspan::replay

#endif  // VRAMSPAN_TOOLS_REPLAY_ESTIMATED_TIMES_H_
