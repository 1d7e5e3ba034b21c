#include "runtime/scheduler/work_queue.h"

#include <algorithm>

namespace vramspan {

void WorkQueue::Push(Work* work) {
  held_.push_back(work);
  numbers_.push_back(++pushed_);
  Count(*work, 1);
}

void WorkQueue::Pop(size_t count) {
  for (; count != 0; --count) {
    Count(*held_.front(), -1);
    held_.pop_front();
    numbers_.pop_front();
  }
}

size_t WorkQueue::RunInPlace(size_t count) {
  size_t more = 0;
  for (Work* work : held_) {
    if (more == count) break;
    if (work->run_in_place || work->access == Access::kUnknown) continue;
    work->run_in_place = true;
    ++more;
  }
  return more;
}

std::vector<ChunkIndex> WorkQueue::StuckChunks(Instant now) const {
  std::vector<ChunkIndex> stuck;
  for (const Work* work : held_) {
    if (!work->in_submission || now - work->submitted_at < kBlockedAfter) continue;
    work->ForEach([&](const ChunkUse& use) { stuck.push_back(use.chunk); });
  }
  std::sort(stuck.begin(), stuck.end());
  return stuck;
}

bool WorkQueue::GiveWayToUnknown(Instant now, bool* changed) {
  const auto stuck = std::find_if(held_.begin(), held_.end(), [now](const Work* work) {
    return work->in_submission && work->access == Access::kUnknown &&
           now - work->submitted_at > kBlockedAfter;
  });
  if (stuck == held_.end()) return false;
  for (auto it = held_.begin(); it != stuck; ++it) {
    *changed |= !(*it)->run_in_place;
    (*it)->run_in_place = true;
  }
  return true;
}

bool WorkQueue::Remove(const Work* work) {
  const auto at = std::find(held_.begin(), held_.end(), work);
  if (at == held_.end()) return false;
  numbers_.erase(numbers_.begin() + (at - held_.begin()));
  held_.erase(at);
  Count(*work, -1);
  return true;
}

}  // namespace vramspan
