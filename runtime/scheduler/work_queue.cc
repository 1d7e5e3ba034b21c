#include "runtime/scheduler/work_queue.h"

#include <algorithm>

namespace vramspan {

void WorkQueue::Push(Work* work) {
  held_.push_back(work);
  barriers_ += work->barrier();
}

void WorkQueue::Pop(size_t count) {
  for (; count != 0; --count) {
    barriers_ -= held_.front()->barrier();
    held_.pop_front();
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

bool WorkQueue::Remove(const Work* work) {
  const auto at = std::find(held_.begin(), held_.end(), work);
  if (at == held_.end()) return false;
  held_.erase(at);
  barriers_ -= work->barrier();
  return true;
}

}  // namespace vramspan
