// Released work that has not ended, in the order of release.
//
// Pure: no clock, no lock. One owner.
#ifndef VRAMSPAN_RUNTIME_SCHEDULER_RELEASED_WORK_H_
#define VRAMSPAN_RUNTIME_SCHEDULER_RELEASED_WORK_H_

#include <cstddef>
#include <cstdint>
#include <deque>

#include "runtime/base/log.h"
#include "runtime/scheduler/work.h"

namespace vramspan {

class ReleasedWork {
 public:
  size_t size() const { return count_; }

  void Add(Work* work) {
    work->place = first_ + works_.size();
    works_.push_back(work);
    ++count_;
  }
  // REQUIRES: it was added, and not removed since. Else nothing is done: an owner that forgot to
  // tell of a release is to be found by what comes of it (the simulation has one).
  void Remove(const Work& work) {
    const uint64_t at = work.place - first_;
    const bool there = at < works_.size() && works_[at] == &work;
    VS_DCHECK(there);
    if (!there) return;
    works_[at] = nullptr;
    --count_;
    for (; !works_.empty() && works_.front() == nullptr; ++first_) works_.pop_front();
  }
  // Calls `visit` with the latest, at most so many, in order.
  template <typename Visit>
  void ForEachLatest(size_t most, Visit visit) const {
    size_t skip = count_ > most ? count_ - most : 0;
    for (const Work* work : works_) {
      if (work == nullptr) continue;
      skip != 0 ? void(--skip) : visit(*work);
    }
  }

 private:
  std::deque<Work*> works_;  // Null: has ended.
  uint64_t first_ = 0;       // Place of the first.
  size_t count_ = 0;
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_SCHEDULER_RELEASED_WORK_H_
