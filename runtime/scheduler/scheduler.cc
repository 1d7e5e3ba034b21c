#include "runtime/scheduler/scheduler.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace vramspan {

using Kind = Action::Kind;
using Tells = SchedulerEvent::Kind;

Scheduler::Scheduler(ChunkTable* chunks, EvictionPolicy* policy, const SchedulerOptions& options,
                     SchedulerOwner* owner)
    : tell_(options.sink),
      told_owner_(options.sink == nullptr
                      ? std::nullopt
                      : std::optional<ToldOwner>(std::in_place, owner, options.sink)),
      residency_(chunks),
      counts_(&residency_),
      host_copies_(&residency_),
      empty_(&residency_, &queue_),
      trials_(policy == nullptr ? std::nullopt
                                : std::optional<Trials>(std::in_place, &residency_, policy,
                                                        options.prices, options.device_memory)),
      patience_(options.deadline),
      unmapped_(&residency_, &queue_, &counts_, options.deadline),
      reachability_(&residency_, &unmapped_, &counts_),
      readiness_(&residency_, &unmapped_, trials_ ? &*trials_ : nullptr),
      moves_({&residency_, &queue_, &counts_, &unmapped_, &reachability_, &host_copies_, policy,
              told_owner_ ? &*told_owner_ : owner}),
      plan_maker_(
          policy == nullptr
              ? std::nullopt
              : std::optional<PlanMaker>(std::in_place,
                                         PlanSources{&residency_, &queue_, &counts_, &readiness_,
                                                     &unmapped_, &*trials_, &sequence_, &patience_},
                                         policy, options.prices, options.traced)),
      planning_(
          {&residency_, &queue_, &counts_, trials_ ? &*trials_ : nullptr,
           plan_maker_ ? &*plan_maker_ : nullptr, &moves_, told_owner_ ? &*told_owner_ : owner},
          options.traced && options.idle_fetches, options.always_prints),
      work_({&residency_, &queue_, &counts_, &host_copies_, &empty_, trials_ ? &*trials_ : nullptr,
             &patience_, &unmapped_, &readiness_, &moves_, &planning_, policy,
             told_owner_ ? &*told_owner_ : owner}) {
  if (options.sink == nullptr) return;
  options.sink->Made(chunks, options, policy == nullptr ? "" : policy->name());
}

Action Scheduler::Next(const Moment& at) {
  return tell_({.kind = Tells::kNext, .at = &at}, [&] { return NextAction(at); });
}

Instant Scheduler::Due(const Moment& at, Instant before) {
  return tell_({.kind = Tells::kDue, .at = &at, .other = before},
               [&] { return NextTime(at, before); });
}

Action Scheduler::NextAction(const Moment& at) {
  // What was done since the last call may have taken long, but it was something.
  if (std::exchange(acted_, false)) patience_.Progressed(at.now);
  if (trials_) trials_->BudgetIs(at.budget);
  const Action action = Decide(at);
  acted_ = action.kind != Kind::kNothing;
  return action;
}

Action Scheduler::Decide(const Moment& at) {
  if (residency_.unmapped() == 0) unmapped_.AllMapped();
  // Work that has its memory comes first, then what may bring other work nearer to that: new
  // copies, which take longest, then the ends of those that are done, then mappings on the host.
  for (bool again = true; again;) {
    if (Work* const work = work_.TakeReady(at)) return {.kind = Kind::kRelease, .work = work};
    const WorkFlow::Overdue overdue = work_.CheckDeadline(at);
    detaches_ |= overdue.copies_stuck && shares_context_;
    again = overdue.work_may_go;
    if (again) continue;
    ChunkMove* const begins = planning_.NextMove(at, work_.ConditionsAt(at), &again);
    if (begins != nullptr)
      return {.kind = begins->in ? Kind::kFetch : Kind::kEvict, .move = begins};
  }
  if (detaches_) {
    ChunkMove* const stuck = moves_.First(ChunkMove::Stage::kCopying);
    if (stuck != nullptr) return {.kind = Kind::kDetach, .move = stuck};
    detaches_ = false;
  }
  const Action end = EndOfMove(at);
  return end.kind != Kind::kNothing ? end : Mapping(at);
}

Action Scheduler::EndOfMove(const Moment& at) {
  ChunkIndex blocked;
  ChunkMove* const remap = TimedRuns(at.now) ? nullptr : moves_.ToRemap(at.now, &blocked);
  if (blocked) work_.InPlaceWith(blocked);
  if (ChunkMove* const failed = moves_.First(ChunkMove::Stage::kFailed)) {
    return {.kind = failed->ahead ? Kind::kUnmap : Kind::kGiveUp, .move = failed};
  }
  ChunkMove* const lost = moves_.First(ChunkMove::Stage::kLost);
  if (lost != nullptr && !planning_.Pauses(at.now)) {
    return {.kind = lost->ahead ? Kind::kUnmap : Kind::kMend, .move = lost};
  }
  return {.kind = remap != nullptr ? Kind::kRemap : Kind::kNothing, .move = remap};
}

Action Scheduler::Mapping(const Moment& at) {
  if (residency_.unmapped() == 0 || TimedRuns(at.now) || planning_.Pauses(at.now)) return {};
  const bool idle = queue_.empty() && !work_.running();
  const ChunkIndex chunk = unmapped_.BeginMapping(idle ? patience_.progress() : at.now, at.now);
  return {.kind = chunk ? Kind::kMapOnHost : Kind::kNothing, .chunk = chunk};
}

Instant Scheduler::NextTime(const Moment& at, Instant before) {
  // Nothing begins while timed work runs.
  before = TimedRuns(at.now) ? std::min(before, trials_->timed_until()) : planning_.Due(at, before);
  if (trials_ && !queue_.empty() && trials_->OnTrial(*queue_.front()) && trials_->WaitsUntil()) {
    const Instant until = *trials_->WaitsUntil();
    if (until > at.now) before = std::min(before, until);
  }
  if (moves_.size() != 0) return before;
  if (residency_.unmapped() != 0 && queue_.empty() && !work_.running() && !unmapped_.mapping()) {
    const Instant idle = patience_.progress() + UnmappedChunks::kIdle + Duration(1);
    // Nothing is mapped while moves pause.
    const Instant maps = planning_.Pauses(at.now) ? planning_.not_before() : at.now;
    before = std::min(before, std::max(maps, idle));
  }
  return work_.Due(before, at.now);
}

void Scheduler::Want(Work* work) {
  tell_({.kind = Tells::kWant, .work = work}, [&] { trials_->Want(work); });
}

void Scheduler::Refused(ChunkMove* move, bool failed, Instant now) {
  tell_({.kind = Tells::kRefused, .move = move, .now = now, .value = failed}, [&] {
    moves_.Refused(move);
    planning_.Refused(now);
    acted_ = false;
    if (failed) Failed(now);
  });
}

Remapping Scheduler::BeginRemap(ChunkMove* move, Instant now) {
  return tell_({.kind = Tells::kBeginRemap, .move = move, .now = now},
               [&] { return moves_.BeginRemap(move, /*may_hide=*/!shares_context_, now); });
}

void Scheduler::Remapped(ChunkMove* move, RemapOutcome outcome, const Moment& at) {
  tell_({.kind = Tells::kRemapped,
         .move = move,
         .now = at.now,
         .value = static_cast<uint64_t>(outcome),
         .second = at.host_has_room},
        [&] {
          moves_.Remapped(move, outcome, at.host_has_room);
          if (outcome == RemapOutcome::kDone) planning_.RoomCame();
          if (outcome == RemapOutcome::kLost) planning_.Failed(at.now);
        });
}

void Scheduler::Unmapped(ChunkMove* move, bool ok, Instant now) {
  tell_({.kind = Tells::kUnmapped, .move = move, .now = now, .value = ok}, [&] {
    moves_.Unmapped(move, ok);
    if (!ok) planning_.Failed(now);
  });
}

void Scheduler::GiveUp(ChunkMove* move, bool failed, Instant now) {
  tell_({.kind = Tells::kGiveUp, .move = move, .now = now, .value = failed}, [&] {
    moves_.GiveUp(move);
    planning_.RoomCame();
    if (failed) Failed(now);
  });
}

void Scheduler::Failed(Instant now) {
  planning_.Failed(now);
  // What waits is served where its memory is: a remap is never required.
  work_.AllInPlace();
}

void Scheduler::MappedOnHost(ChunkIndex chunk, bool ok, Instant now) {
  tell_({.kind = Tells::kMappedOnHost, .chunk = chunk, .now = now, .value = ok}, [&] {
    unmapped_.Mapped(chunk, ok);
    if (!ok) planning_.Failed(now);
  });
}

void Scheduler::LookAgain() {
  tell_({.kind = Tells::kLookAgain}, [&] { planning_.RoomCame(); });
}

void Scheduler::UsersDeclared(ChunkIndex chunk) {
  tell_({.kind = Tells::kUsersDeclared, .chunk = chunk}, [&] {
    residency_.UsersDeclared(chunk);
    planning_.Again();
  });
}

void Scheduler::Track(Tracking tracking) {
  tell_({.kind = Tells::kTrack, .value = static_cast<uint64_t>(tracking)}, [&] {
    residency_.Track(tracking);
    sequence_.Interrupted();
    planning_.Again();
  });
}

void Scheduler::ShareContext() {
  tell_({.kind = Tells::kShareContext}, [&] { shares_context_ = true; });
}

bool Scheduler::Found(ChunkIndex chunk, uint64_t work, const Fingerprint& print) {
  return tell_({.kind = Tells::kFound, .print = &print, .chunk = chunk, .value = work},
               [&] { return host_copies_.Found(chunk, work, print); });
}

void Scheduler::Teach(uint64_t kernel, double passes, uint64_t resident_ns) {
  tell_({.kind = Tells::kTeach,
         .value = kernel,
         .second = std::bit_cast<uint64_t>(passes),
         .third = resident_ns},
        [&] { trials_->history().Teach(kernel, passes, resident_ns); });
}

void Scheduler::Know(uint64_t kernel, uint64_t resident_ns, Bytes touched) {
  tell_({.kind = Tells::kKnow, .value = kernel, .second = resident_ns, .third = touched.value},
        [&] { trials_->history().Know(kernel, resident_ns, touched); });
}

void Scheduler::KnowArgument(uint64_t kernel, const ArgumentPrice& price) {
  tell_({.kind = Tells::kKnowArgument,
         .value = kernel,
         .second = PackedPrice(price),
         .third = std::bit_cast<uint64_t>(price.passes)},
        [&] { trials_->history().KnowArgument(kernel, price); });
}

}  // namespace vramspan
