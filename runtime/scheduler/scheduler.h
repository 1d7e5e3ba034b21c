// Decides what is held, released, moved, mapped and left unmapped. Events go in, one action at a
// time comes out.
//
// Why nothing here can hang a program or lose its data:
//  - A chunk is remapped only while no released work that has not ended has it in its set. New work
//    that names it is held. Every remap may be given up: the chunk then stays where it is.
//  - What cannot be served in time, because released work does not end, is let go with its memory
//    in place (patience.h).
//
// The same events at the same times give the same actions: the runtime's mover, a replay and the
// simulation test run this.
//
// Pure: no driver call, no lock, no clock, no thread. One owner. Times never go back.
#ifndef VRAMSPAN_RUNTIME_SCHEDULER_SCHEDULER_H_
#define VRAMSPAN_RUNTIME_SCHEDULER_SCHEDULER_H_

#include <cstdint>
#include <optional>

#include "runtime/scheduler/action.h"
#include "runtime/scheduler/event_sink.h"
#include "runtime/scheduler/events.h"
#include "runtime/scheduler/moves.h"
#include "runtime/scheduler/owner.h"
#include "runtime/scheduler/plan_maker.h"
#include "runtime/scheduler/planning.h"
#include "runtime/scheduler/reachability.h"
#include "runtime/scheduler/sequence.h"
#include "runtime/scheduler/told_owner.h"
#include "runtime/scheduler/work_flow.h"

namespace vramspan {

struct SchedulerOptions {
  Duration deadline = std::chrono::milliseconds(20);
  bool traced = false;       // Every launch is seen, so what repeats is expected to.
  bool idle_fetches = true;  // See Planning, and below.
  bool always_prints = false;
  Bytes device_memory;  // The budget, as it is at first.
  Prices prices;
  EventSink* sink = nullptr;  // Is told of all that happens; outlives the scheduler. Null: nobody.
};

class Scheduler {
 public:
  // All outlive it. `policy`: null where the owner makes the plans.
  Scheduler(ChunkTable* chunks, EvictionPolicy* policy, const SchedulerOptions& options,
            SchedulerOwner* owner);
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  // --- what to do next ---
  Action Next(const Moment& at);
  // When there may be something to do though nothing happens; at the latest `before`.
  Instant Due(const Moment& at, Instant before);

  // --- what happens to work, and what threads ask of addresses ---
  WorkEvents work() { return {&work_, tell_}; }
  AddressEvents reachability() { return {&reachability_, tell_}; }
  MappingEvents unmapped() { return {&unmapped_, tell_}; }
  // What is wanted of it is all that is not served in place.
  void Want(Work* work);

  // --- what comes of moves; what is not here is told to them ---
  MoveEvents moves() { return {&moves_, tell_}; }
  const Moves& moves() const { return moves_; }
  // A move could not be started, and is over; `failed`: for an error, and not because its memory
  // went to another.
  void Refused(ChunkMove* move, bool failed, Instant now);
  Remapping BeginRemap(ChunkMove* move, Instant now);
  void Remapped(ChunkMove* move, RemapOutcome outcome, const Moment& at);
  void Unmapped(ChunkMove* move, bool ok, Instant now);
  // `failed`: for an error, and not because a thread keeps the address.
  void GiveUp(ChunkMove* move, bool failed, Instant now);
  void MappedOnHost(ChunkIndex chunk, bool ok, Instant now);
  // Anything that will end is under way.
  bool moving() const { return moves_.size() != 0 || unmapped_.mapping(); }
  // Whether held work has its memory, whatever moves beside it.
  bool HasItsMemory(const Work& work, const Conditions& at) const {
    return readiness_.HasItsMemory(work, at);
  }

  // --- all else ---
  // Memory was freed, or the budget has changed, or what is asked of chunks.
  void LookAgain();
  // Work that declared the chunk has been reached, or has ended.
  void UsersDeclared(ChunkIndex chunk);
  // Of which chunks all users are counted, from here on.
  void Track(Tracking tracking);
  // Moves are made in the program's own context, where copies may wait for held work: kDetach.
  void ShareContext();
  // What the fingerprint behind the work tells. True: the chunk's host copy is to be dropped.
  [[nodiscard]] bool Found(ChunkIndex chunk, uint64_t work, const Fingerprint& print);
  // What is known of a kernel before it was seen here (KernelHistory).
  void Teach(uint64_t kernel, double passes, uint64_t resident_ns);
  void Know(uint64_t kernel, uint64_t resident_ns, Bytes touched);
  void KnowArgument(uint64_t kernel, const ArgumentPrice& price);

  // --- what others look at ---
  const Residency& residency() const { return residency_; }
  const WorkQueue& queue() const { return queue_; }
  const WorkCounts& counts() const { return counts_; }
  const Planning& planning() const { return planning_; }
  const Sequence& sequence() const { return sequence_; }
  const Trials& trials() const { return *trials_; }

 private:
  Action NextAction(const Moment& at);
  Instant NextTime(const Moment& at, Instant before);
  Action Decide(const Moment& at);
  Action EndOfMove(const Moment& at);
  Action Mapping(const Moment& at);
  bool TimedRuns(Instant now) const { return trials_ && trials_->TimedRuns(now); }
  void Failed(Instant now);

  const EventTeller tell_;
  std::optional<ToldOwner> told_owner_;  // Where somebody is told.
  Residency residency_;
  WorkQueue queue_;
  WorkCounts counts_;
  HostCopies host_copies_;
  EmptyChunks empty_;
  std::optional<Trials> trials_;  // Without a policy: none.
  Sequence sequence_;
  Patience patience_;
  UnmappedChunks unmapped_;
  Reachability reachability_;
  Readiness readiness_;
  Moves moves_;
  std::optional<PlanMaker> plan_maker_;  // Without a policy: none.
  Planning planning_;
  WorkFlow work_;
  bool shares_context_ = false;
  bool detaches_ = false;  // Until all copies under way are.
  bool acted_ = false;     // The last answer was something.
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_SCHEDULER_SCHEDULER_H_
