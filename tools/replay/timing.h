// What a recorded run says of time that holds wherever its memory lies: how long each piece of work
// takes with all its memory on the device, what it waits for, and how far the program runs ahead.
//
//  - A duration is the recorded one where nothing was remote; else the least of the same work with
//    nothing remote, else of the same code over about as many bytes; else what is left of it
//    without the time that its remote bytes take once over the bus. Work that was not timed takes 5
//    us and its bytes at the device's rate.
//  - Work starts after the work before it in its stream and after its submission. Where it was seen
//    to start much later than that, it also waits for the work, of any stream, that ended last
//    before it started. What is left over is a lag that it always has; in a run in which memory was
//    moved, where most of it was the moves' doing, at most 10 us of it.
//  - The program takes a step (it submits work, allocates or frees) as long after the step before
//    as it did. Where the trace tells what it waited for, it waits again for what it had submitted
//    by then: all of it, that of a stream (unless that had far more to do yet: then the call was
//    held because no more launches fitted), or (an event) what ended last. Where it does not, and
//    behind a free, which waits for all work: where some work ended in between, it takes the step
//    as long after that; but for work that was submitted so soon after the step before that there
//    was hardly a wait in between. Where that was the end of all it had submitted, it waited for
//    the device: then it is not held to have been busy itself for longer than the last work takes
//    alone. What recording took of it, where that was told, it takes only while memory is short.
//
// Immutable once made; any thread may read it. Times in nanoseconds.
#ifndef VRAMSPAN_TOOLS_REPLAY_TIMING_H_
#define VRAMSPAN_TOOLS_REPLAY_TIMING_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "runtime/base/roughly.h"
#include "tools/replay/recorded_run.h"
#include "tools/replay/replay_prices.h"
#include "tools/replay/rounds.h"

namespace vramspan::replay {

inline constexpr uint32_t kNoWork = ~uint32_t{0};

struct WorkTiming {
  uint64_t duration = 0;     // With all its memory on the device.
  uint64_t lag = 0;          // From when it could start to its start.
  uint32_t after = kNoWork;  // It starts after this work has ended.
};

// Of one step of the program.
struct StepTiming {
  uint32_t after = kNoWork;  // Its thread waits until this work has ended,
  uint64_t think = 0;        // so long after the step before;
  uint64_t rest = 0;         // and so long after that it takes the step.
  uint64_t recording = 0;    // Of the latter of the two: what a run that is not recorded lacks.
};

class Timing {
 public:
  // REQUIRES: run.Check() is ok, and works come in the order of the steps. `run` outlives this.
  Timing(const RecordedRun* run, const ReplayPrices& prices);

  const WorkTiming& of(uint32_t work) const { return works_[work]; }
  const StepTiming& step(size_t index) const { return steps_[index]; }
  // How often each byte of the work's memory crosses the bus when it is served in place, as what
  // was recorded of its code proves, with a quarter of a MiB remote or more. Where nothing does: as
  // many times as work of its code and size takes longer in the median than the memory's own rate
  // needs, for what does more with its memory than read it once most likely reads it again (a
  // matrix product); 1 for what is exact, and at least 1 for what a cache may hold; at most 40.
  double Passes(uint32_t work) const {
    return passes_[run_.works[work].code].value_or(guesses_[work]);
  }
  bool Proved(uint32_t work) const { return passes_[run_.works[work].code].has_value(); }
  // Of the memory of the device that was recorded, in GB/s.
  double DeviceRate() const;
  // What the program does again and again.
  const Phases& phases() const { return phases_; }
  // Bytes that a set's ranges name.
  Bytes bytes(uint32_t set) const { return bytes_[set]; }

 private:
  // The same for work of kernels that are alike, on about as much memory.
  std::pair<uint32_t, uint64_t> LikeOf(const RecordedWork& w) const {
    return {run_.alike(w.code), RoughSize(bytes_[w.set])};
  }
  void FindDurations();
  void FindPasses();
  void GuessPasses();
  void FindWaits();
  void FindSteps();

  const RecordedRun& run_;
  const ReplayPrices prices_;
  std::vector<WorkTiming> works_;
  std::vector<StepTiming> steps_;
  std::vector<Bytes> bytes_, once_;            // By set: as named, and each byte once.
  std::vector<std::optional<double>> passes_;  // By code.
  std::vector<float> guesses_;                 // By work.
  std::vector<bool> exact_;                    // By set: all of its ranges are.
  const Phases phases_;
};

}  // namespace vramspan::replay

#endif  // VRAMSPAN_TOOLS_REPLAY_TIMING_H_
