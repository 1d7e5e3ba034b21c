// A world that follows a script, in plain numbers of time: who submits what when, what ends when,
// and what fails. The scheduler is as ever, and what it wants done is done in virtual time: a copy
// takes a millisecond, a call on mappings a tenth of one.
#ifndef VRAMSPAN_TESTS_SCHEDULER_SIMULATION_SCRIPTED_H_
#define VRAMSPAN_TESTS_SCHEDULER_SIMULATION_SCRIPTED_H_

#include <functional>
#include <memory>
#include <vector>

#include "runtime/scheduler/scheduler.h"

namespace vramspan::simulation {

// Work of a script; what it touches is given at its making.
struct Launch : Work {
  std::vector<ChunkUse> all;
  Duration takes{0};      // From its release, or the end of what is before it; or
  bool for_ever = false;  // until it is told to end.
  bool copy = false;      // The driver looks up what it names.
};

class Scripted final : SchedulerOwner {
 public:
  static constexpr Bytes kChunk = MiB(16);
  static constexpr Duration kCopy = std::chrono::milliseconds(1);
  static constexpr Duration kCall = std::chrono::microseconds(100);

  // So many chunks are on the device, 1 and up, and fill it; so many behind them on the host.
  Scripted(uint32_t on_device, uint32_t on_host, SchedulerOptions options = {});

  Scheduler& scheduler() { return scheduler_; }
  Chunk& chunk(uint32_t c) { return (*table_)[ChunkIndex(c)]; }
  Instant now() const { return now_; }

  // A kernel on these, which takes so long.
  std::unique_ptr<Launch> Kernel(std::vector<uint32_t> uses, Duration takes);
  std::unique_ptr<Launch> Copy(std::vector<uint32_t> uses);
  // Its thread submits it, and is inside the driver until Return, if it is held.
  void Submit(Launch* work);
  void Return(Launch* work);
  void SubmitAndReturn(Launch* work) {
    Submit(work);
    Return(work);
  }
  void End(Launch* work);

  // Time passes, and what is to be done is.
  void Pass(Duration time);
  // Passes until the work is let go, at most so long. How long it took, or more than that.
  Duration UntilReleased(const Launch& work, Duration most = std::chrono::seconds(10));
  void Budget(Bytes budget) {
    budget_ = budget;
    scheduler_.LookAgain();
  }

  // --- what fails, from here on ---
  bool copies_stuck = false;                                                      // No copy ends.
  int failing_copies = 0, failing_remaps = 0, lost_remaps = 0, failing_maps = 0;  // So many.

  size_t remaps() const { return remaps_; }
  size_t detached() const { return detached_; }

 private:
  struct Timed {
    Instant at;
    std::function<void()> then;
  };

  void DropHostCopy(ChunkIndex chunk) override;
  void ForEachRunning(absl::FunctionRef<void(const Work&)> visit) override;
  Moment At() const;
  void Act();
  void Perform(const Action& action);
  void StartCopy(ChunkMove* move);
  void EndRemap(ChunkMove* move);
  void Runs(Launch* work);
  void After(Duration time, std::function<void()> then);

  std::unique_ptr<ChunkTable> table_;
  const std::unique_ptr<EvictionPolicy> policy_;
  Bytes budget_, used_;
  Scheduler scheduler_;
  Instant now_{std::chrono::seconds(1)};
  std::vector<Timed> timed_;
  std::vector<Launch*> running_;
  bool calling_ = false;
  uint64_t next_id_ = 1;
  size_t remaps_ = 0, detached_ = 0;
};

}  // namespace vramspan::simulation

#endif  // VRAMSPAN_TESTS_SCHEDULER_SIMULATION_SCRIPTED_H_
