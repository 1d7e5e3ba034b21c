// The events that the parts of a scheduler take from others. Each is told to the sink, where there
// is one, and then passed on. Nobody else can change the parts: what others are given of them
// beside this is const.
//
// Pure: no clock, no lock. One owner.
#ifndef VRAMSPAN_RUNTIME_SCHEDULER_EVENTS_H_
#define VRAMSPAN_RUNTIME_SCHEDULER_EVENTS_H_

#include <cstdint>

#include "runtime/scheduler/event_sink.h"
#include "runtime/scheduler/moves.h"
#include "runtime/scheduler/reachability.h"
#include "runtime/scheduler/unmapped_chunks.h"
#include "runtime/scheduler/work_flow.h"

namespace vramspan {

// Work, as WorkFlow has it.
class WorkEvents {
 public:
  using Kind = SchedulerEvent::Kind;

  WorkEvents(WorkFlow* flow, EventTeller tell) : flow_(*flow), tell_(tell) {}

  bool Full(bool kernels_only, uint32_t coming = 0) const {
    return tell_({.kind = Kind::kFull, .value = uint64_t{coming} << 1 | uint64_t{kernels_only}},
                 [&] { return flow_.Full(kernels_only, coming); });
  }
  bool Submit(Work* work, const Moment& at);
  void SetInSubmission(Work* work, bool in_submission) {
    tell_({.kind = Kind::kSetInSubmission, .work = work, .value = in_submission},
          [&] { flow_.SetInSubmission(work, in_submission); });
  }
  void FollowedBy(Work* work, uint32_t launches) {
    tell_({.kind = Kind::kFollowedBy, .work = work, .value = launches},
          [&] { flow_.FollowedBy(work, launches); });
  }
  bool Cancelled(Work* work) {
    return tell_({.kind = Kind::kCancelled, .work = work}, [&] { return flow_.Cancelled(work); });
  }
  void Counted(Work* work) {
    tell_({.kind = Kind::kCounted, .work = work}, [&] { flow_.Counted(work); });
  }
  void CountedEnded(const Work& work) {
    tell_({.kind = Kind::kCountedEnded, .work = &work}, [&] { flow_.CountedEnded(work); });
  }
  void Arrived(Work* work) {
    tell_({.kind = Kind::kArrived, .work = work}, [&] { flow_.Arrived(work); });
  }
  void ArrivesUntold(Work* work) {
    tell_({.kind = Kind::kArrivesUntold, .work = work}, [&] { flow_.ArrivesUntold(work); });
  }
  void Released(Work* work, const Moment& at);
  void Finished(Work* work, Instant began, bool at_once, Instant now) {
    tell_({.kind = Kind::kFinished, .work = work, .now = now, .other = began, .value = at_once},
          [&] { flow_.Finished(work, began, at_once, now); });
  }
  bool Looked(Instant now) {
    return tell_({.kind = Kind::kLooked, .now = now}, [&] { return flow_.Looked(now); });
  }
  void ForeignWorkBegan(Instant now) {
    tell_({.kind = Kind::kForeignWorkBegan, .now = now}, [&] { flow_.ForeignWorkBegan(now); });
  }
  bool ForeignWorkEnded() {
    return tell_({.kind = Kind::kForeignWorkEnded}, [&] { return flow_.ForeignWorkEnded(); });
  }
  void AnyMayBeWritten(bool but_read_mostly) {
    tell_({.kind = Kind::kAnyMayBeWritten, .value = but_read_mostly},
          [&] { flow_.AnyMayBeWritten(but_read_mostly); });
  }
  void GivenUp(ChunkIndex chunk, bool unowned) {
    tell_({.kind = Kind::kGivenUp, .chunk = chunk, .value = unowned},
          [&] { flow_.GivenUp(chunk, unowned); });
  }
  void Owned(ChunkIndex chunk) {
    tell_({.kind = Kind::kOwned, .chunk = chunk}, [&] { flow_.Owned(chunk); });
  }
  void ContextDied() {
    tell_({.kind = Kind::kContextDied}, [&] { flow_.ContextDied(); });
  }
  void AllInPlace() {
    tell_({.kind = Kind::kAllInPlace}, [&] { flow_.AllInPlace(); });
  }

  bool running() const { return flow_.running(); }
  const WorkFlow::Statistics& statistics() const { return flow_.statistics(); }

 private:
  WorkFlow& flow_;
  const EventTeller tell_;
};

// Addresses that threads hand to the driver, as Reachability has them.
class AddressEvents {
 public:
  using Kind = SchedulerEvent::Kind;

  AddressEvents(Reachability* reachability, EventTeller tell)
      : reachability_(*reachability), tell_(tell) {}

  bool MustWait(const Work& work) {
    return tell_({.kind = Kind::kMustWait, .work = &work},
                 [&] { return reachability_.MustWait(work); });
  }
  void QueryBegan() {
    tell_({.kind = Kind::kQueryBegan}, [&] { reachability_.QueryBegan(); });
  }
  bool QueryMustWait() {
    return tell_({.kind = Kind::kQueryMustWait}, [&] { return reachability_.QueryMustWait(); });
  }
  bool QueryEnded() {
    return tell_({.kind = Kind::kQueryEnded}, [&] { return reachability_.QueryEnded(); });
  }

  bool queried() const { return reachability_.queried(); }

 private:
  Reachability& reachability_;
  const EventTeller tell_;
};

// Host chunks without a mapping, as UnmappedChunks has them.
class MappingEvents {
 public:
  using Kind = SchedulerEvent::Kind;

  MappingEvents(UnmappedChunks* unmapped, EventTeller tell) : unmapped_(*unmapped), tell_(tell) {}

  void KeepMapped(Instant now) { KeepMappedUntil(now + UnmappedChunks::kKeptMapped); }
  void KeepMappedUntil(Instant until) {
    tell_({.kind = Kind::kKeepMappedUntil, .other = until},
          [&] { unmapped_.KeepMappedUntil(until); });
  }
  void MapAll(bool all = true) {
    tell_({.kind = Kind::kMapAll, .value = all}, [&] { unmapped_.MapAll(all); });
  }
  bool wants_mapping() const { return unmapped_.wants_mapping(); }

 private:
  UnmappedChunks& unmapped_;
  const EventTeller tell_;
};

// Moves, as Moves has them.
class MoveEvents {
 public:
  using Kind = SchedulerEvent::Kind;

  MoveEvents(Moves* moves, EventTeller tell) : moves_(*moves), tell_(tell) {}

  void Started(ChunkMove* move) {
    tell_({.kind = Kind::kStarted, .move = move}, [&] { moves_.Started(move); });
  }
  void Copied(ChunkMove* move, const CopyOutcome& copy);
  void NotRemapped(ChunkMove* move) {
    tell_({.kind = Kind::kNotRemapped, .move = move}, [&] { moves_.NotRemapped(move); });
  }
  void Detach(ChunkMove* move) {
    tell_({.kind = Kind::kDetach, .move = move}, [&] { moves_.Detach(move); });
  }
  void DetachedEnded(ChunkMove* move) {
    tell_({.kind = Kind::kDetachedEnded, .move = move}, [&] { moves_.DetachedEnded(move); });
  }

  size_t places() const { return moves_.places(); }
  size_t size() const { return moves_.size(); }
  absl::Span<ChunkMove* const> all() const { return moves_.all(); }
  Bytes moving_in() const { return moves_.moving_in(); }
  Bytes moving_out() const { return moves_.moving_out(); }
  ChunkMove* First(ChunkMove::Stage stage) const { return moves_.First(stage); }
  const Moves::Counts& counts() const { return moves_.counts(); }

 private:
  Moves& moves_;
  const EventTeller tell_;
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_SCHEDULER_EVENTS_H_
