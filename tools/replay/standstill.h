// A replay in which nothing comes of anything any more is at fault, and ends with words.
//
// Pure. Threads: one.
#ifndef VRAMSPAN_TOOLS_REPLAY_STANDSTILL_H_
#define VRAMSPAN_TOOLS_REPLAY_STANDSTILL_H_

#include <cstdint>

#include "runtime/base/status.h"
#include "tools/replay/recorded_run.h"

namespace vramspan::replay {

class Standstill {
 public:
  // Steps at one moment; far more than anything settles in.
  static constexpr uint64_t kMostStill = 1'000'000;
  // So long no program does anything. Turns, deadlines and whoever waits for them take far less.
  static constexpr uint64_t kLongest = 3'600'000'000'000;

  // At `now`, from where the replay goes on to `next`; kNever: there is nothing to go to. `alive`:
  // some program did something, or is to come. Internal: it stands still.
  Status Step(uint64_t now, uint64_t next, bool alive);

 private:
  uint64_t still_ = 0;
  uint64_t alive_at_ = 0;
};

}  // namespace vramspan::replay

#endif  // VRAMSPAN_TOOLS_REPLAY_STANDSTILL_H_
