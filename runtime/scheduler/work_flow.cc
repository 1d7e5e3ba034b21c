#include "runtime/scheduler/work_flow.h"

#include <algorithm>
#include <utility>

#include "runtime/base/log.h"
#include "runtime/placement/move_limits.h"
#include "runtime/scheduler/filled_chunks.h"
#include "runtime/scheduler/large_works.h"

namespace vramspan {

bool WorkFlow::Full(bool kernels_only, uint32_t coming) const {
  // As many entries wait in the program's streams as so many held launches make.
  const size_t held = parts_.queue->size() + coming + fingerprint_launches_ / kEntriesHeld;
  return held >= (kernels_only ? kMostHeldKernels : kMostHeld);
}

Conditions WorkFlow::ConditionsAt(const Moment& at) const {
  return {.moving = parts_.moves->size() != 0 || parts_.unmapped->mapping(),
          .running = released_ != 0,
          .draining = at.draining,
          .dead = dead_,
          .unmapped = parts_.residency->unmapped(),
          .lost = parts_.moves->lost(),
          .now = at.now};
}

bool WorkFlow::Submit(Work* work, const Moment& at) {
  if (work->kernel != 0 && parts_.trials != nullptr) {
    parts_.trials->PriceNew(work, at.available);
    if (ServeLarge(work, *parts_.residency, at.budget)) parts_.trials->Want(work);
  } else if (parts_.trials != nullptr && FetchFilled(work, *parts_.residency, at.budget)) {
    parts_.trials->Want(work);
  }
  parts_.unmapped->Submitted(*work, at.now);
  if (work->kind == Work::Kind::kScope && parts_.queue->empty() &&
      parts_.readiness->RunsAsItIs(*work, ConditionsAt(at))) {
    parts_.planning->Submitted(work);
    MarkReleased(work, at);
    return true;
  }
  work->held = true;
  if (work->kind != Work::Kind::kPin) {
    work->ForEachFixed([&](const ChunkUse& use) {
      const Chunk& c = (*parts_.residency)[use.chunk];
      work->needs_arrival |= !c.movable && c.allocation != 0;
    });
  }
  parts_.counts->Held(*work);
  if (parts_.queue->empty()) parts_.patience->HeadIs(work->id, at.now);
  parts_.queue->Push(work);
  parts_.planning->Submitted(work);
  if (released_ == 0) parts_.planning->Again();
  return false;
}

void WorkFlow::SetInSubmission(Work* work, bool in_submission) {
  parts_.counts->SetInSubmission(work, in_submission);
  parts_.planning->Again();
}

void WorkFlow::FollowedBy(Work* work, uint32_t launches) {
  work->prints.launches = launches;
  fingerprint_launches_ += launches;
}

bool WorkFlow::Cancelled(Work* work) {
  SetInSubmission(work, false);
  fingerprint_launches_ -= std::exchange(work->prints.launches, 0);
  if (parts_.trials != nullptr) parts_.trials->Cancelled(*work);
  if (work->released) {
    parts_.counts->Ended(*work);
    parts_.planning->Ended(*work);
    --released_;
    return false;
  }
  parts_.counts->Unheld(*work);
  const bool held = parts_.queue->Remove(work);
  parts_.empty->QueueWentOn();
  parts_.planning->Remake();
  return held;
}

void WorkFlow::Counted(Work* work) {
  work->released = true;
  parts_.counts->Released(*work, /*policy=*/nullptr);
  work->ForEachFixed([&](const ChunkUse& use) {
    if (use.how.write && parts_.host_copies->MayBeWritten(use.chunk, {})) {
      parts_.owner->DropHostCopy(use.chunk);
    }
  });
}

void WorkFlow::Arrived(Work* work) {
  work->needs_arrival = false;
  work->ForEachFixed([&](const ChunkUse& use) { parts_.residency->UsersDeclared(use.chunk); });
  parts_.planning->Again();
}

Work* WorkFlow::TakeReady(const Moment& at) {
  if (parts_.queue->empty()) return nullptr;
  Work* const head = parts_.queue->front();
  bool wants_others = false;
  const bool ready = parts_.readiness->Ready(head, ConditionsAt(at), &wants_others);
  if (wants_others) parts_.planning->Remake();
  if (!ready) return nullptr;
  parts_.queue->Pop(1);
  parts_.counts->Unheld(*head);
  if (!parts_.queue->empty()) parts_.patience->HeadIs(parts_.queue->front()->id, at.now);
  parts_.unmapped->Released(*head);
  return head;
}

void WorkFlow::Released(Work* work, const Moment& at) {
  statistics_.held += at.now - work->submitted_at;
  if (work->kind != Work::Kind::kPin) {
    parts_.planning->Released(work);
    MarkReleased(work, at);
    return;
  }
  // Nothing runs, so it is over at once.
  parts_.planning->Remake();
  MarkReleased(work, at);
  parts_.counts->Ended(*work);
  --released_;
}

void WorkFlow::MarkReleased(Work* work, const Moment& at) {
  work->released = true;
  work->held = false;
  work->released_at = at.now;
  ++released_;
  fingerprint_launches_ -= std::exchange(work->prints.launches, 0);
  parts_.counts->Released(*work, parts_.policy);
  work->remote = Bytes(0);
  if (work->kind != Work::Kind::kEvict) {
    const bool barrier = parts_.counts->barriers() != 0;
    work->ForEachFixed([&](const ChunkUse& use) {
      const Chunk& c = (*parts_.residency)[use.chunk];
      // In a dead context nothing runs any more that could miss it.
      VS_DCHECK(!c.unmapped || work->kind != Work::Kind::kScope || dead_);
      if (!c.on_device && !use.how.possible) work->remote += c.size();
      if (!use.how.write) return;
      const HostCopies::Write write{
          .by = {work->id, work->submitter.thread, work->submitter.stream_key},
          .alone = c.in_flight == 1 && parts_.residency->UsersKnown(c),
          .barrier = barrier,
          .follow = at.follows_writers};
      if (parts_.host_copies->MayBeWritten(use.chunk, write)) {
        parts_.owner->DropHostCopy(use.chunk);
      }
    });
  }
  statistics_.in_place += work->remote != Bytes(0) && work->kind == Work::Kind::kScope;
  if (work->kernel != 0 && parts_.trials != nullptr) parts_.trials->Released(work);
  if (work->barrier()) NothingIsKnown(/*but_read_mostly=*/false);  // It may write anywhere.
  // Code of which only the name is known may do so as well. While memory is on the device that
  // shows in nothing, and here it would.
  if (work->access != Access::kExact) parts_.empty->AnyMayBeFilled();
  parts_.empty->QueueWentOn();
}

void WorkFlow::Finished(Work* work, Instant began, bool at_once, Instant now) {
  parts_.planning->Ended(*work);
  parts_.patience->Ended(work->id, work->released_at, now);
  if (work->kernel != 0 && parts_.trials != nullptr) {
    const Duration gap = at_once ? Duration(0) : now - looked_;
    parts_.trials->Finished(*work, began, gap, parts_.patience->Disturbed(now), now);
  }
  if (work->kind != Work::Kind::kEvict) {
    work->ForEachFixed([&](const ChunkUse& use) { parts_.residency->UsersDeclared(use.chunk); });
  }
  parts_.counts->Ended(*work);
  // It may have been told while it ran what was handed out meanwhile.
  if (work->access != Access::kExact) parts_.empty->AnyMayBeFilled();
  ++ended_;
}

bool WorkFlow::Looked(Instant now) {
  parts_.patience->Looked(released_ != 0, now);
  looked_ = now;
  if (ended_ == 0) return false;
  released_ -= std::exchange(ended_, 0);
  parts_.patience->Progressed(now);
  parts_.planning->RoomCame();
  return true;
}

void WorkFlow::ForeignWorkBegan(Instant now) {
  parts_.counts->ForeignWorkBegan();
  parts_.unmapped->KeepMapped(now);
}

bool WorkFlow::ForeignWorkEnded() {
  AnyMayBeWritten(/*but_read_mostly=*/false);
  parts_.planning->RoomCame();
  return parts_.counts->ForeignWorkEnded();
}

void WorkFlow::AnyMayBeWritten(bool but_read_mostly) {
  NothingIsKnown(but_read_mostly);
  parts_.empty->ForgetAll();
}

void WorkFlow::NothingIsKnown(bool but_read_mostly) {
  parts_.host_copies->AnyMayBeWritten(
      but_read_mostly, [this](ChunkIndex chunk) { parts_.owner->DropHostCopy(chunk); });
}

void WorkFlow::AllInPlace() {
  for (Work* work : *parts_.queue) work->run_in_place = true;
  parts_.planning->Remake();
}

void WorkFlow::InPlaceWith(ChunkIndex chunk) {
  for (Work* work : *parts_.queue) {
    work->ForEach([&](const ChunkUse& use) { work->run_in_place |= use.chunk == chunk; });
  }
  parts_.planning->Remake();
}

Patience::Situation WorkFlow::Situation(Instant now) {
  bool runs = false;
  uint64_t known = 0;
  parts_.owner->ForEachRunning([&](const Work& work) {
    runs |= work.submitted;
    if (work.kernel == 0 || parts_.trials == nullptr) return;
    known = std::max(known, parts_.trials->history().MayTake(work.trial.sample));
  });
  Patience::Situation at;
  // A thread that is blocked inside the driver may hold up all others that enter it, and with them
  // what the head waits for; unless that is work which the device is known to have.
  const Duration blocked_after = parts_.patience->deadline() / Patience::kBlockedShare;
  at.blocked = !runs && std::any_of(parts_.queue->begin(), parts_.queue->end(), [&](const Work* w) {
    return w->in_submission && now - w->submitted_at > blocked_after;
  });
  at.moving = ConditionsAt({.now = now}).moving;
  at.known = Duration(known);
  parts_.queue->front()->ForEach(
      [&](const ChunkUse& use) { at.wanted += (*parts_.residency)[use.chunk].size(); });
  at.queued = parts_.queue->size();
  return at;
}

WorkFlow::Overdue WorkFlow::CheckDeadline(const Moment& at) {
  Overdue overdue;
  if (parts_.queue->empty()) return overdue;
  if (dead_) {
    overdue.work_may_go = !parts_.queue->front()->run_in_place;
    if (overdue.work_may_go) AllInPlace();
    return overdue;
  }
  parts_.patience->HeadIs(parts_.queue->front()->id, at.now);
  if (!parts_.patience->MayBeDue(at.now)) return overdue;
  const Patience::Verdict verdict = parts_.patience->Check(Situation(at.now), at.now);
  overdue.copies_stuck = verdict.detach_copies;
  const size_t more = parts_.queue->RunInPlace(verdict.in_place);
  if (more == 0) return overdue;
  overdue.work_may_go = true;
  statistics_.deadlines += more;
  parts_.patience->RunsInPlace(at.now);
  parts_.planning->Remake();
  parts_.residency->NoteAll();  // Should a change have gone untold, the wait for it ends here.
  return overdue;
}

Instant WorkFlow::Due(Instant before, Instant now) {
  if (parts_.queue->empty()) return before;
  // With more known it is not earlier, and that takes looking up.
  if (before > parts_.patience->Due({})) {
    before = std::min(before, std::max(now, parts_.patience->Due(Situation(now))));
  }
  const Instant mapped = parts_.unmapped->Due(*parts_.queue->front());
  return mapped > now ? std::min(before, mapped) : before;
}

}  // namespace vramspan
