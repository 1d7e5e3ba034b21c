#include "runtime/scheduler/plan_maker.h"

#include <absl/algorithm/container.h>

#include <algorithm>

#include "runtime/base/log.h"
#include "runtime/placement/move_limits.h"

namespace vramspan {

using Comes = PlannedQueue::Comes;

QueuedWork PlanMaker::Queued(const Work& work) const {
  return {.id = work.id,
          .kernel = work.kernel,
          .chunks = work.wanted.chunks,
          .duration = traced_ ? from_.trials->history().Expected(work.kernel) : 1,
          .explicit_request = work.kind != Work::Kind::kScope,
          .version = work.wanted.version};
}

void PlanMaker::Submitted(Work* work) {
  const Sequence::Seen seen =
      traced_ && work->kind == Work::Kind::kScope ? from_.sequence->Saw(work) : Sequence::Seen();
  if (seen.forgotten) planned_.KeepExpected(0);
  if (seen.changed) planned_.Rename(work->signature, *seen.changed, work->wanted.version);
  if (!work->held) released_.Add(work);
  const bool many = released_.size() > kReleasedSeen;
  changed_ = true;
  const Comes comes = seen.expected ? Comes::kExpected
                      : seen.counts ? Comes::kUnexpected
                                    : Comes::kBeside;
  follows_ &= work->access != Access::kUnknown && work->kind == Work::Kind::kScope && !many;
  if (follows_) {
    planned_.Submit(Queued(*work), !work->held, comes);
  } else {
    planned_.LeaveOut(comes);
  }
}

void PlanMaker::Released(Work* head) {
  released_.Add(head);
  changed_ = true;
  if (!follows_) return;
  follows_ = head->awaited.chunks.empty() && released_.size() <= kReleasedSeen &&
             (from_.queue->empty() || from_.queue->front()->awaited.chunks.empty());
  if (follows_) planned_.Release();
}

void PlanMaker::Ended(const Work& work) {
  released_.Remove(work);
  changed_ = true;
  if (follows_) follows_ = planned_.Finish(work.id);
}

void PlanMaker::FollowQueue() {
  changed_ = false;
  if (!follows_) planned_.Restart();
  Retime();
  if (!follows_) MakeQueue();
  AddForecast();
  VS_DCHECK(QueueIsRight());
}

void PlanMaker::Retime() {
  const KernelHistory& history = from_.trials->history();
  const uint64_t changes = history.expected_changes() - durations_;
  if (changes == 0 || !traced_) return;
  durations_ += changes;
  planned_.Retime([&](const QueuedWork& work) {
    const bool same = changes == 1 && work.kernel != history.expected_changed();
    return same ? work.duration : history.Expected(work.kernel);
  });
}

void PlanMaker::MakeQueue() {
  // Some that run may not be seen, and then not all of what is here.
  follows_ = released_.size() <= kReleasedSeen;
  held_.clear();
  run_in_place_ = 0;
  released_.ForEachLatest(kReleasedSeen, [this](const Work& work) {
    if (work.kind != Work::Kind::kScope) return;
    planned_.Submit(Queued(work), /*released=*/true, Comes::kBeside);
  });
  for (Work* work : *from_.queue) {
    const bool head = work == from_.queue->front();
    follows_ &=
        !work->run_in_place && work->kind == Work::Kind::kScope && work->access != Access::kUnknown;
    // What comes after work that may touch anything is not looked at before it has run.
    if (work->access == Access::kUnknown) break;
    if (work->kind == Work::Kind::kEvict) continue;
    // What is released as it is runs next, but nothing more is fetched for it.
    const bool leads = work->run_in_place && held_.size() == run_in_place_;
    if (work->run_in_place && !leads) continue;
    run_in_place_ += leads;
    QueuedWork queued = Queued(*work);
    if (head && !work->awaited.chunks.empty()) {
      follows_ = false;
      with_fetches_.assign(work->wanted.chunks.begin(), work->wanted.chunks.end());
      with_fetches_.insert(with_fetches_.end(), work->awaited.chunks.begin(),
                           work->awaited.chunks.end());
      queued.chunks = with_fetches_;
      queued.version = 0;
    }
    planned_.Submit(queued, /*released=*/leads, Comes::kBeside);
    held_.push_back(work);
  }
}

void PlanMaker::AddForecast() {
  const size_t queued = planned_.works().size() - planned_.expected();
  const size_t sight = from_.sequence->sight();
  const size_t most = traced_ ? sight - std::min(queued, sight) : 0;
  planned_.KeepExpected(static_cast<uint32_t>(from_.sequence->confident() ? most : 0));
  const size_t known = planned_.expected();
  if (known >= most) return;
  from_.sequence->Next(known, most - known, from_.trials->history(),
                       [this](const QueuedWork& work) { planned_.Expect(work); });
}

bool PlanMaker::QueueIsRight() const {
  std::vector<QueuedWork> right;
  released_.ForEachLatest(kReleasedSeen, [&](const Work& work) {
    if (work.kind == Work::Kind::kScope) right.push_back(Queued(work));
  });
  size_t released = right.size();
  for (const Work* work : *from_.queue) right.push_back(Queued(*work));
  if (!follows_) {
    // It was just made, but for what is expected.
    const auto made = planned_.works().subspan(0, planned_.works().size() - planned_.expected());
    right.assign(made.begin(), made.end());
    released = planned_.released();
  }
  const size_t queued = right.size();
  const size_t sight = from_.sequence->sight();
  if (traced_ && queued < sight) {
    from_.sequence->Next(0, sight - queued, from_.trials->history(),
                         [&](const QueuedWork& work) { right.push_back(work); });
  }
  const absl::Span<const QueuedWork> works = planned_.works();
  return planned_.released() == released && works.size() - planned_.expected() == queued &&
         std::equal(works.begin(), works.end(), right.begin(), right.end(),
                    [](const QueuedWork& a, const QueuedWork& b) {
                      return a.id == b.id && a.chunks == b.chunks && a.duration == b.duration;
                    });
}

bool PlanMaker::Rests(const Conditions& at) {
  // Work that may touch anything waits until nothing moves, so nothing more begins to.
  if (from_.counts->barriers() != 0) return true;
  if (from_.trials->TimedRuns(at.now)) return true;
  // Soon more memory may be moved, and nothing is to be given up before.
  return at.draining;
}

void PlanMaker::AddExplicitEvictions(std::vector<ChunkIndex>* evict) const {
  // Not before what was queued earlier has gone: that may want the same memory on the device.
  for (const Work* work : *from_.queue) {
    if (work->kind != Work::Kind::kEvict) return;
    if (work->needs_arrival || work->run_in_place) continue;
    for (const ChunkIndex index : work->wanted.chunks) {
      if (from_.residency->MayLeave((*from_.residency)[index])) evict->push_back(index);
    }
  }
}

bool PlanMaker::Make(const Room& room, const Conditions& at, Plan* plan) {
  plan->evict.clear();
  plan->fetch.clear();
  plan->in_place.clear();
  if (Rests(at)) return false;
  bool any = from_.trials->PriceQueue(*from_.queue, room.available);
  if (any) Remake();
  Work* const head = from_.queue->empty() ? nullptr : from_.queue->front();
  if (head != nullptr) {
    if (head->kernel != 0 && !head->trial.tried && from_.trials->Try(head)) {
      Remake();
      any = true;
    }
    // A trial may have been all that it waited for. More moves would only keep it waiting.
    if (head->awaited.chunks.empty() && (head->barrier() || from_.trials->OnTrial(*head)) &&
        from_.readiness->HasItsMemory(*head, at)) {
      return any;
    }
    if (from_.patience->Starved(head->id)) return any;
    bool gave_way = false;
    const bool blocked = from_.counts->unknown_in_submission() != 0 &&
                         from_.queue->GiveWayToUnknown(at.now, &gave_way);
    if (gave_way) Remake();
    if (blocked) return any || gave_way;
  }
  const Bytes pipeline = PipelineBytes(room.budget);
  const Bytes over = room.used > room.budget ? room.used - room.budget : Bytes(0);
  const bool may_fetch = room.moving_in < pipeline, may_evict = room.moving_out < pipeline;
  if (may_evict) AddExplicitEvictions(&plan->evict);
  // Then a plan has nothing to say.
  if (!may_fetch && over == Bytes(0)) return any;
  plan->lacks = false;
  if (changed_) FollowQueue();
  const bool held = follows_ ? head != nullptr : held_.size() > run_in_place_;
  const bool ahead = head == nullptr && planned_.expected() != 0;
  if (!held && !ahead && over == Bytes(0)) return any;

  PlanRequest request;
  planned_.Tell(&request);
  request.ahead = std::min(pipeline, kFetchedAhead);
  request.room = room.available;
  request.room_coming = room.moving_out;
  // All of it: a cycle may be many times the budget, and what it needs must not look unneeded.
  request.horizon = Bytes(UINT64_MAX);
  request.must_free = over > room.moving_out ? over - room.moving_out : Bytes(0);
  if (traced_) request.per_byte = kEarly / prices_.move_gb_per_s;
  if (may_fetch) request.startable = pipeline - room.moving_in;
  request.max_fetches = may_fetch ? kMovesAtOnce : 0;
  request.max_evictions = may_evict ? kMovesAtOnce : 0;
  views_.Set(over != Bytes(0), head != nullptr ? from_.trials->TrialOf(*head) : ChunkIndex(),
             from_.counts->in_submission() != 0 ? from_.queue->StuckChunks(at.now)
                                                : std::vector<ChunkIndex>());
  planner_.Make(request, views_, &made_);
  if (head == nullptr && over == Bytes(0)) LeaveWhatIsBarred();
  any |= RunInPlace(made_, at.now);
  plan->evict.insert(plan->evict.end(), made_.evict.begin(), made_.evict.end());
  plan->fetch = made_.fetch;
  plan->in_place = made_.in_place;
  plan->lacks = made_.lacks;
  return any;
}

void PlanMaker::LeaveWhatIsBarred() {
  const Heat& heat = from_.trials->heat();
  const auto barred = [&heat](ChunkIndex chunk) { return heat.IsBarred(chunk); };
  if (!absl::c_any_of(made_.fetch, barred)) return;
  made_.evict.clear();
  made_.fetch.clear();
  made_.lacks = false;
}

bool PlanMaker::RunInPlace(const Plan& plan, Instant now) {
  bool any = false;
  for (const uint32_t i : plan.in_place) {
    // Only ever the head, of what is held and submitted. What is expected has yet to come.
    if (follows_ ? from_.queue->empty() : held_.size() <= run_in_place_) continue;
    VS_DCHECK(i == planned_.released());
    Work* const work = follows_ ? from_.queue->front() : held_[run_in_place_];
    Remake();
    any = true;
    if (work == from_.queue->front() && !work->awaited.chunks.empty()) {
      // There is no room for what others want beside what it wants itself.
      from_.unmapped->NotPlanned(work, now);
    } else {
      work->run_in_place = true;
    }
  }
  return any;
}

}  // namespace vramspan
