// What the runtime's mover (runtime/mover) would have done with a recorded run, in virtual time:
// the same scheduler (runtime/scheduler) over a simulated program, device and bus.
//
// What is modelled: streams, each first come first served (virtual_streams.h); the program that
// runs ahead as it did (virtual_program.h), up to what a stream takes and the scheduler holds;
// copies both ways, and one thread that makes the calls on mappings, one after another, with what a
// call waits for beside copies out (mover_calls.h); device memory that has to be made where only
// other sizes are left (virtual_memory.h); fingerprints behind work, and the time that they take
// (replayed_prints.h). What is not: host memory has no end, recording costs
// nothing to begin, the program's own allocations take no time, copies and kernels that both use
// the bus do not slow each other, and memory that a kernel may write counts as written unless the
// record shows that it was not (unwritten.h).
//
// Deterministic. Threads: one object, one thread; what it is made from may be shared.
#ifndef VRAMSPAN_TOOLS_REPLAY_SIMULATED_MOVER_H_
#define VRAMSPAN_TOOLS_REPLAY_SIMULATED_MOVER_H_

#include <memory>
#include <optional>
#include <vector>

#include "runtime/lease/lease_rule.h"
#include "runtime/scheduler/scheduler.h"
#include "runtime/scheduler/stalls.h"
#include "tools/replay/bound_moves.h"
#include "tools/replay/kept_allocations.h"
#include "tools/replay/known_sets.h"
#include "tools/replay/min_schedule.h"
#include "tools/replay/mover_calls.h"
#include "tools/replay/replay_result.h"
#include "tools/replay/replayed_prints.h"
#include "tools/replay/run_recorder.h"
#include "tools/replay/scheduler_rest.h"
#include "tools/replay/served_time.h"
#include "tools/replay/timing.h"
#include "tools/replay/virtual_memory.h"
#include "tools/replay/virtual_program.h"
#include "tools/replay/virtual_streams.h"

namespace vramspan::replay {

class SimulatedMover final : SchedulerOwner {
 public:
  // All outlive it. `min`: where the policy is kMinPolicy, for BoundMoves::KeptOf of the budget.
  // REQUIRES: the setting's policy is one, and works come in the order of the steps.
  SimulatedMover(const ChunkedRun& chunks, const Timing& timing, const ReplayPrices& prices,
                 const ReplaySetting& setting, const MinSchedule* min);
  ~SimulatedMover();

  // Once. Fills all of the result but `resident` and the bound.
  ReplayResult Run();

  // --- the same in steps, for several programs on one clock: Settle, Pass to NextEvent or before,
  // again and again, and Finish ---
  // Does what is to be done now. False: the program is over.
  bool Settle();
  uint64_t NextEvent();
  // REQUIRES: no later than NextEvent, unless that has passed.
  void Pass(uint64_t to);
  ReplayResult Finish();

  // --- what others on the device change, from now on ---
  void SetBudget(Bytes budget);
  // Where memory is short the program submits nothing until it may again: others have the GPU.
  void HoldWork(bool hold) { gate_.closed = hold; }
  // Of the device's time for kernels it has so much, and others copy over the bus.
  void Share(double share, const LinkCrowd& others) {
    streams_.SetShare(now_, share);
    calls_.SetCrowd(others);
  }

  // --- and what they see of it ---
  uint64_t now() const { return now_; }
  bool computes() const { return streams_.Computes(now_); }
  uint64_t NextStart() const { return streams_.NextStart(now_); }  // Of kernels; kNever for none.
  bool Copies(bool in) const { return in ? calls_.copies_in() : calls_.copies_out(); }
  const VirtualMemory& memory() const { return memory_; }
  const Moves::Counts& moves() const { return scheduler_.moves().counts(); }
  WorkSeen work_seen() const;

 private:
  // Before new work, as the runtime's WorkScopes::AwaitTurn: what is not recorded does not wait.
  struct Gate {
    bool closed = false;
    bool waited_at = false;  // By the program, now.
    uint64_t passed = 0;     // Works that were recorded.
  };

  // --- the scheduler's owner ---
  void DropHostCopy(ChunkIndex chunk) override { memory_[chunk].Transition(ChunkState::kDevice); }
  void ForEachRunning(absl::FunctionRef<void(const Work&)> visit) override {
    streams_.ForEachRunning(visit);
  }
  bool MakePlan(const Room& room, const Conditions& at, Plan* plan) override {
    return bound_->Make(&scheduler_, room, at, plan);
  }

  // --- time ---
  Moment At() const;
  VirtualStreams::Now StreamsNow() const;

  // --- the program ---
  void Program();
  // Whether the step was taken.
  bool Submits(uint32_t work);
  bool Allocates(uint32_t allocation);
  void Frees(uint32_t allocation);
  void Reclaim(ChunkIndex chunk);

  // --- work ---
  ActiveWork* NewWork(uint32_t work);
  void Submit(ActiveWork* a);
  // What it finds on the host, and how long it takes for that.
  void FindDuration(ActiveWork* a);
  void Released(ActiveWork* a);
  void EndWork();
  void LookAtEnded();
  void Gone(ActiveWork* a);  // Nobody knows it any more.

  // --- what the scheduler wants done; whether it was anything ---
  bool Act();
  void Evict(ChunkMove* move);
  void Fetch(const Action& action);
  void Remap(const Action& action);
  void EndCall(const Action& ended);
  void EndRemap(ChunkMove* move);

  const ChunkedRun& chunks_;
  const RecordedRun& run_;
  const Timing& timing_;
  const ReplayPrices prices_;
  const ReplaySetting setting_;
  const std::unique_ptr<RunRecorder> recorder_;
  ReplayResult result_;

  uint64_t now_ = 0;
  Stalls stalls_;
  bool tracking_ = false;  // Memory is short: the scheduler has a say.
  Gate gate_;
  VirtualMemory memory_;
  VirtualStreams streams_;
  VirtualProgram program_;
  MoverCalls calls_;
  const ServedTime served_;
  const std::unique_ptr<EvictionPolicy> policy_;  // None for min,
  std::optional<BoundMoves> bound_;               // which has this instead.
  Scheduler scheduler_;
  ReplayedPrints prints_;
  SchedulerRest rest_;
  std::vector<ActiveWork*> ended_;  // Those whose end has not been looked at.
  std::vector<ChunkMove*> moves_;   // By place.
  KeptAllocations kept_;
};

}  // namespace vramspan::replay

#endif  // VRAMSPAN_TOOLS_REPLAY_SIMULATED_MOVER_H_
