// The queue as the planner sees it: what is released, what is held, the first of which may have
// given up, and what is expected.
#include <algorithm>

#include "runtime/base/log.h"
#include "runtime/placement/move_limits.h"
#include "tools/replay/simulated_mover.h"

namespace vramspan::replay {

QueuedWork SimulatedMover::Queued(const Work& a) const {
  QueuedWork work;
  work.id = a.id;
  work.chunks = a.wanted;
  work.version = a.version;
  if (traced_) work.duration = trials_->history().Expected(a.kernel);
  return work;
}

void SimulatedMover::QueueForPlan() {
  queue_changed_ = false;
  if (planned_durations_ != trials_->history().expected_changes()) planned_follows_ = false;
  if (!planned_follows_) MakeQueue();
  AddForecast();
  VS_DCHECK(QueueIsRight());
}

void SimulatedMover::MakeQueue() {
  planned_durations_ = trials_->history().expected_changes();
  // Some that are on the device may not be seen, and then not all of what is here.
  planned_follows_ = in_flight_ <= kReleasedSeen;
  planned_.Clear();
  planned_held_.clear();
  planned_run_in_place_ = 0;
  const auto queued = [this](const Work& a) {
    QueuedWork work = Queued(a);
    if (a.fetch_for_others.empty() || queue_.empty() || &a != queue_.front()) return work;
    planned_follows_ = false;
    with_fetches_.assign(a.wanted.begin(), a.wanted.end());
    with_fetches_.insert(with_fetches_.end(), a.fetch_for_others.begin(), a.fetch_for_others.end());
    work.chunks = with_fetches_;
    work.version = 0;
    return work;
  };
  size_t skip = in_flight_ - std::min<size_t>(in_flight_, kReleasedSeen);
  for (const ActiveWork* a : released_) {
    if (a->finished || (skip != 0 && skip-- != 0)) continue;
    planned_.Submit(queued(*a), /*released=*/true, /*was_expected=*/false);
  }
  for (Work* a : queue_) {
    planned_follows_ &= !a->run_in_place && a->access != Access::kUnknown;
    if (a->access == Access::kUnknown) break;
    // What is let go as it is runs next, but nothing more is fetched for it.
    const bool leads = a->run_in_place && planned_held_.size() == planned_run_in_place_;
    if (a->run_in_place && !leads) continue;
    planned_run_in_place_ += leads;
    planned_.Submit(queued(*a), /*released=*/leads, /*was_expected=*/false);
    planned_held_.push_back(a);
  }
}

void SimulatedMover::AddForecast() {
  const size_t queued = planned_.works().size() - planned_.expected();
  const size_t most = traced_ ? kExpectedWorks - std::min(queued, kExpectedWorks) : 0;
  planned_.KeepExpected(static_cast<uint32_t>(sequence_.confident() ? most : 0));
  const size_t known = planned_.expected();
  if (known >= most) return;
  sequence_.Next(known, most - known, trials_->history(),
                 [this](const QueuedWork& work) { planned_.Expect(work); });
}

void SimulatedMover::QueueSubmitted(const ActiveWork& a, bool was_expected) {
  queue_changed_ = true;
  if (!planned_follows_) return;
  const bool released = !a.held;
  if (a.access == Access::kUnknown || in_flight_ > kReleasedSeen ||
      (&a == (queue_.empty() ? nullptr : queue_.front()) && !a.fetch_for_others.empty())) {
    planned_follows_ = false;
    return;
  }
  planned_.Submit(Queued(a), released, was_expected);
}

void SimulatedMover::QueueReleased(const ActiveWork& a) {
  queue_changed_ = true;
  if (!planned_follows_) return;
  planned_follows_ = a.fetch_for_others.empty() && in_flight_ <= kReleasedSeen &&
                     (queue_.empty() || queue_.front()->fetch_for_others.empty());
  if (planned_follows_) planned_.Release();
}

void SimulatedMover::QueueFinished(const ActiveWork& a) {
  queue_changed_ = true;
  if (planned_follows_) planned_follows_ = planned_.Finish(a.work);
}

bool SimulatedMover::QueueIsRight() {
  if (!planned_follows_) return true;
  std::vector<QueuedWork> right;
  for (const ActiveWork* a : released_) {
    if (!a->finished) right.push_back(Queued(*a));
  }
  const size_t released = right.size();
  for (const Work* a : queue_) right.push_back(Queued(*a));
  const size_t queued = right.size();
  if (traced_ && queued < kExpectedWorks) {
    sequence_.Next(0, kExpectedWorks - queued, trials_->history(),
                   [&](const QueuedWork& work) { right.push_back(work); });
  }
  const absl::Span<const QueuedWork> works = planned_.works();
  return planned_.released() == released && works.size() - planned_.expected() == queued &&
         std::equal(works.begin(), works.end(), right.begin(), right.end(),
                    [](const QueuedWork& a, const QueuedWork& b) {
                      return a.id == b.id && a.chunks == b.chunks && a.duration == b.duration;
                    });
}

}  // namespace vramspan::replay
