#include "runtime/scheduler/planned_queue.h"

#include <algorithm>

#include "runtime/base/log.h"

namespace vramspan {
namespace {

// Works that have gone, beside as many that have not, before their places are taken.
constexpr size_t kMostBehind = 256;

bool IsSame(const QueuedWork& a, const QueuedWork& b) {
  return a.version != 0 && a.version == b.version && a.duration == b.duration &&
         a.explicit_request == b.explicit_request;
}

}  // namespace

void PlannedQueue::Changed(size_t from) {
  changed_ = true;
  same_ = std::min(same_, from);
}

void PlannedQueue::Clear() {
  works_.clear();
  begin_ = 0;
  released_ = held_ = 0;
  told_ = false;
  Changed(0);
}

void PlannedQueue::Submit(const QueuedWork& work, bool released, Comes comes) {
  VS_DCHECK(!released || held_ == 0);
  const size_t at = size_t{released_} + held_;
  if (comes == Comes::kExpected && expected() != 0) {
    QueuedWork& expected = works_[begin_ + at];
    // The planner does not look at ids.
    if (!IsSame(expected, work)) Changed(at);
    expected = work;
  } else {
    if (comes != Comes::kBeside) KeepExpected(0);
    Changed(at);
    works_.insert(works_.begin() + static_cast<ptrdiff_t>(begin_ + at), work);
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
  if (same_ != 0) {
    --same_;
    ++gone_;
  }
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
    Changed(at);
  }
}

void PlannedQueue::Retime(absl::FunctionRef<uint64_t(const QueuedWork& work)> duration) {
  for (size_t at = 0; at < works().size(); ++at) {
    QueuedWork& work = works_[begin_ + at];
    const uint64_t takes = duration(work);
    if (takes == work.duration) continue;
    work.duration = takes;
    Changed(at);
  }
}

void PlannedQueue::KeepExpected(uint32_t count) {
  if (count >= expected()) return;
  const size_t kept = size_t{released_} + held_ + count;
  works_.resize(begin_ + kept);
  Changed(kept);
}

void PlannedQueue::Tell(PlanRequest* request) {
  request->queue = works();
  request->released = released_;
  if (told_) {
    request->queue_since = version_;
    request->queue_gone = gone_;
    request->queue_same = same_;
  }
  if (changed_) ++version_;
  request->queue_version = version_;
  told_ = true;
  changed_ = false;
  gone_ = 0;
  same_ = works().size();
}

}  // namespace vramspan
