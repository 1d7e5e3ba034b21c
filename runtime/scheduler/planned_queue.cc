#include "runtime/scheduler/planned_queue.h"

#include <algorithm>

#include "runtime/base/log.h"
#include "runtime/base/splice.h"

namespace vramspan {
namespace {

// Works that have gone, beside as many that have not, before their places are taken.
constexpr size_t kMostBehind = 256;

bool IsSame(const QueuedWork& a, const QueuedWork& b) {
  return a.version != 0 && a.version == b.version && a.duration == b.duration &&
         a.explicit_request == b.explicit_request;
}

}  // namespace

void PlannedQueue::Changed(size_t from, size_t left, size_t came) {
  changed_ = true;
  if (from >= same_ + came_ + tail_) return;  // Behind all that was told.
  if (!split_) {
    split_ = true;
    left_ = std::min(left, same_ - from);
    came_ = came;
    tail_ = same_ - from - left_;
    same_ = from;
    return;
  }
  // What changed before, and this, and all between.
  const size_t before = same_ - std::min(same_, from);
  same_ -= before;
  const size_t end = same_ + before + came_;
  const size_t behind = std::max(end, from + left) - end;
  const size_t told = std::min(behind, tail_);
  tail_ -= told;
  left_ += before + told;
  came_ += before + behind + came - left;
}

void PlannedQueue::JoinGone() {
  if (!split_ || same_ + came_ != 0) return;
  gone_ += left_;
  same_ = tail_;
  left_ = tail_ = 0;
  split_ = false;
}

void PlannedQueue::Restart() {
  const size_t count = size_t{released_} + held_;
  Changed(0, count, 0);
  begin_ += count;
  released_ = held_ = 0;
}

void PlannedQueue::LeaveOut(Comes comes) {
  if (comes == Comes::kUnexpected) KeepExpected(0);
  if (comes != Comes::kExpected || expected() == 0) return;
  const size_t at = size_t{released_} + held_;
  Changed(at, 1, 0);
  const Splice splice(begin_, begin_ + at, 1, 0, works_.size());
  splice.Move(&works_);
  begin_ = splice.NewBegin();
}

void PlannedQueue::Submit(const QueuedWork& work, bool released, Comes comes) {
  VS_DCHECK(!released || held_ == 0);
  const size_t at = size_t{released_} + held_;
  if (comes == Comes::kExpected && expected() != 0) {
    QueuedWork& expected = works_[begin_ + at];
    // The planner does not look at ids.
    if (!IsSame(expected, work)) Changed(at, 1, 1);
    expected = work;
  } else {
    if (comes != Comes::kBeside) KeepExpected(0);
    Changed(at, 0, 1);
    const Splice splice(begin_, begin_ + at, 0, 1, works_.size());
    splice.Move(&works_);
    works_[splice.NewAt()] = work;
    begin_ = splice.NewBegin();
  }
  ++(released ? released_ : held_);
}

void PlannedQueue::Release() {
  VS_DCHECK(held_ != 0);
  --held_;
  ++released_;
}

bool PlannedQueue::Finish(uint64_t id) {
  if (released_ == 0 || works_[begin_].id != id) return false;
  --released_;
  ++begin_;
  changed_ = true;
  JoinGone();
  if (same_ != 0) {
    --same_;
    ++gone_;
  } else if (came_ != 0) {
    --came_;
  }
  JoinGone();
  if (begin_ > kMostBehind + works().size()) {
    works_.erase(works_.begin(), works_.begin() + static_cast<ptrdiff_t>(begin_));
    begin_ = 0;
  }
  return true;
}

void PlannedQueue::Expect(const QueuedWork& work) {
  works_.push_back(work);
  changed_ = true;
}

void PlannedQueue::Rename(uint64_t id, absl::Span<const ChunkIndex> chunks, uint64_t version) {
  for (size_t at = size_t{released_} + held_; at < works().size(); ++at) {
    QueuedWork& work = works_[begin_ + at];
    if (work.id != id) continue;
    work.chunks = chunks;
    work.version = version;
    Changed(at, 1, 1);
  }
}

void PlannedQueue::Retime(absl::FunctionRef<uint64_t(const QueuedWork& work)> duration) {
  for (size_t at = 0; at < works().size(); ++at) {
    QueuedWork& work = works_[begin_ + at];
    const uint64_t takes = duration(work);
    if (takes == work.duration) continue;
    work.duration = takes;
    Changed(at, 1, 1);
  }
}

void PlannedQueue::KeepExpected(uint32_t count) {
  if (count >= expected()) return;
  const size_t kept = size_t{released_} + held_ + count;
  works_.resize(begin_ + kept);
  changed_ = true;
  same_ = std::min(same_, kept);
  came_ = std::min(came_, kept - same_);
  tail_ = std::min(tail_, kept - same_ - came_);
}

void PlannedQueue::Tell(PlanRequest* request) {
  request->queue = works();
  request->released = released_;
  request->queue_since = version_;
  request->queue_gone = gone_;
  request->queue_same = same_;
  request->queue_left = left_;
  request->queue_came = came_;
  request->queue_tail = tail_;
  if (changed_) ++version_;
  request->queue_version = version_;
  changed_ = false;
  gone_ = left_ = came_ = tail_ = 0;
  split_ = false;
  same_ = works().size();
}

}  // namespace vramspan
