#include "runtime/scheduler/planning.h"

#include <algorithm>
#include <utility>

#include "runtime/placement/move_limits.h"

namespace vramspan {

void Planning::Submitted(Work* work) {
  if (parts_.plan_maker != nullptr) parts_.plan_maker->Submitted(work);
  // What it asks for says more of what comes next than what came before.
  asked_ = work->kind != Work::Kind::kScope;
  // What is so far behind is looked at when next something changes.
  if (!work->held) return;
  again_ |= parts_.queue->size() < kExpectedWorks;
  // What was to come for others may take the room that this one waits for.
  if (plan_for_ != For::kExpected) return;
  plan_for_ = For::kWork;
  evictions_ = plan_.evict.size();
  DropFetches();
}

void Planning::Released(Work* head) {
  if (parts_.plan_maker != nullptr) parts_.plan_maker->Released(head);
  again_ = true;
}

void Planning::Ended(const Work& work) {
  if (parts_.plan_maker != nullptr) parts_.plan_maker->Ended(work);
}

void Planning::Remake() {
  if (parts_.plan_maker != nullptr) parts_.plan_maker->Remake();
  again_ = true;
}

void Planning::Failed(Instant now) {
  not_before_ = now + kAfterFailure;
  if (plan_for_ == For::kExpected) ahead_not_before_ = now + kAfterFailureAhead;
}

void Planning::Refused(Instant now) {
  DropFetches();
  if (parts_.queue->empty()) ahead_not_before_ = now + kAfterRefusalAhead;
  not_before_ = std::max(not_before_, now + kAfterRefusal);
  again_ = true;
}

ChunkMove* Planning::NextMove(const Moment& at, const Conditions& conditions, bool* work_may_go) {
  *work_may_go = false;
  if (Pauses(at.now) || (parts_.trials != nullptr && parts_.trials->TimedRuns(at.now))) {
    return nullptr;
  }
  const Bytes pipeline = PipelineBytes(at.budget);
  if (ChunkMove* const move = NextOfPlan(at, conditions, pipeline)) return move;
  if (!IsDue(at)) return nullptr;
  *work_may_go = Make(at, conditions);
  return NextOfPlan(at, conditions, pipeline);
}

ChunkMove* Planning::NextOfPlan(const Moment& at, const Conditions& conditions, Bytes pipeline) {
  ChunkMove* const evicted = NextEviction(at, conditions, pipeline);
  ChunkMove* const begun = evicted != nullptr ? evicted : NextFetch(at, conditions, pipeline);
  // A plan that is carried out has nothing to add to itself, unless it was cut short.
  if (begun != nullptr) again_ |= std::max(plan_.evict.size(), plan_.fetch.size()) >= kMovesAtOnce;
  return begun;
}

bool Planning::MayPrint(const Conditions& conditions) const {
  if (always_prints_) return true;
  if (conditions.running) return false;
  if (parts_.queue->empty()) return true;
  const Work& head = *parts_.queue->front();
  return head.kind != Work::Kind::kScope || head.barrier();
}

ChunkMove* Planning::NextEviction(const Moment& at, const Conditions& conditions, Bytes pipeline) {
  while (evictions_ < plan_.evict.size()) {
    if (parts_.moves->moving_out() >= pipeline) evictions_ = plan_.evict.size() - 1;
    const ChunkIndex chunk = plan_.evict[evictions_++];
    if (parts_.moves->moving_out() >= pipeline) break;
    ChunkMove* const move = parts_.moves->Evict(chunk, MayPrint(conditions));
    if (move == nullptr) continue;
    move->explicit_request = ServeEvictions(chunk);
    move->cause = CauseOf(*move, at);
    return move;
  }
  return nullptr;
}

ChunkMove* Planning::NextFetch(const Moment& at, const Conditions& conditions, Bytes pipeline) {
  if (fetches_ == plan_.fetch.size()) return nullptr;
  again_ |= at.now > fetches_until_;
  const ChunkIndex chunk = plan_.fetch[fetches_++];
  ChunkMove* move = nullptr;
  if (at.now <= fetches_until_ && parts_.moves->moving_in() < pipeline &&
      (*parts_.residency)[chunk].size() <= at.available) {
    move = parts_.moves->Fetch(chunk, MayPrint(conditions));
  }
  if (move == nullptr) {
    DropFetches();
  } else {
    move->cause = CauseOf(*move, at);
  }
  returned_ += plan_for_ == For::kNobody && move != nullptr;
  return move;
}

MoveCause Planning::CauseOf(const ChunkMove& move, const Moment& at) const {
  if (!move.in) {
    return move.explicit_request         ? MoveCause::kAskedOut
           : at.used > at.budget         ? MoveCause::kOverBudget
           : plan_for_ == For::kExpected ? MoveCause::kRoomAhead
                                         : MoveCause::kRoom;
  }
  if (plan_for_ == For::kNobody) return MoveCause::kIdle;
  if (plan_for_ == For::kExpected || parts_.queue->empty()) return MoveCause::kExpected;
  const Work::Kind head = parts_.queue->front()->kind;
  const bool asked = head == Work::Kind::kFetch || head == Work::Kind::kPin;
  return asked ? MoveCause::kAskedIn : MoveCause::kNeeded;
}

bool Planning::ServeEvictions(ChunkIndex chunk) {
  bool any = false;
  for (Work* work : *parts_.queue) {
    if (work->kind != Work::Kind::kEvict) break;
    if (std::erase(work->wanted.part, chunk) == 0) continue;
    work->wanted.chunks = work->wanted.part;
    parts_.trials->heat().Bar(chunk);
    any = true;
  }
  return any;
}

bool Planning::MayReturn(const Moment& at) const {
  return idle_fetches_on_ && parts_.trials != nullptr && parts_.queue->empty() &&
         at.used <= at.budget && parts_.counts->barriers() == 0 && parts_.moves->size() == 0 &&
         ReturnsAreDue();
}

bool Planning::IsDue(const Moment& at) const {
  if (parts_.trials == nullptr) return again_;
  const bool over = at.used > at.budget;
  if (parts_.queue->empty() && !over) {
    return (LooksAhead(at) && at.now >= AheadFrom()) ||
           (MayReturn(at) && at.now >= idle_fetches_.not_before());
  }
  // What names memory gives way when its thread has been in submission for long.
  const bool blocked = parts_.counts->in_submission() != 0 && at.now - made_ >= kBlockedAfter;
  return again_ || blocked || at.available > available_ || (over && at.used > used_);
}

bool Planning::LooksAhead(const Moment& at) const {
  return again_ && Expects() && parts_.queue->empty() && at.used <= at.budget;
}

Duration Planning::looks_each() const {
  return plan_.lacks && Expects() ? std::max(ahead_after_, kAheadAfter) : Duration::max();
}

void Planning::SetNextAhead() {
  if (plan_for_ == For::kExpected && !plan_.lacks) {
    ahead_after_ = std::clamp(2 * ahead_after_, kAheadAfter, kAheadAtMost);
  } else {
    // What leaves for a fetch leaves room that is to be filled at once.
    ahead_after_ = plan_.evict.empty() ? kAheadAfter : Duration(0);
  }
}

bool Planning::Make(const Moment& at, const Conditions& conditions) {
  plan_.evict.clear();
  plan_.fetch.clear();
  evictions_ = fetches_ = 0;
  const bool ahead = LooksAhead(at) && at.now >= AheadFrom();
  const bool idle =
      parts_.trials != nullptr && parts_.queue->empty() && at.used <= at.budget && !ahead;
  plan_for_ = ahead ? For::kExpected : idle ? For::kNobody : For::kWork;
  made_ = at.now;
  available_ = at.available;
  used_ = at.used;
  fetches_until_ = at.now + Duration(kRemapTimeNs);
  const Room room{.budget = at.budget,
                  .used = at.used,
                  .available = at.available,
                  .moving_in = parts_.moves->moving_in(),
                  .moving_out = parts_.moves->moving_out()};
  if (idle) {
    idle_fetches_.Add(*parts_.residency, parts_.trials->heat(), at.available, at.now, &plan_.fetch);
  } else if (parts_.trials == nullptr) {
    // Each chunk is asked for but once.
    fetches_until_ = Instant::max();
    again_ = false;
    again_ |= parts_.owner->MakePlan(room, conditions, &plan_);
  } else {
    again_ = false;
    again_ |= parts_.plan_maker->Make(room, conditions, &plan_);
    SetNextAhead();
  }
  plans_ += !plan_.evict.empty() || !plan_.fetch.empty();
  return !idle && again_;
}

Instant Planning::Due(const Moment& at, Instant before) const {
  // Nothing begins before, nor is what was lost or unmapped looked at.
  if (Pauses(at.now)) return std::min(before, not_before_);
  if (LooksAhead(at)) before = std::min(before, std::max(at.now, AheadFrom()));
  if (MayReturn(at)) before = std::min(before, std::max(at.now, idle_fetches_.not_before()));
  if (parts_.counts->in_submission() != 0 && !parts_.queue->empty()) {
    before = std::min(before, std::max(at.now, made_ + kBlockedAfter));
  }
  return before;
}

}  // namespace vramspan
