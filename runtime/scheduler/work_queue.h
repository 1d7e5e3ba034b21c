// Held work, in the order of submission.
//
// Pure: no clock, no lock. One owner.
#ifndef VRAMSPAN_RUNTIME_SCHEDULER_WORK_QUEUE_H_
#define VRAMSPAN_RUNTIME_SCHEDULER_WORK_QUEUE_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "runtime/scheduler/work.h"

namespace vramspan {

// What work names gives way to a thread that is in submission for longer: it must be blocked there.
inline constexpr Duration kBlockedAfter = std::chrono::microseconds(200);

class WorkQueue {
 public:
  bool empty() const { return held_.empty(); }
  size_t size() const { return held_.size(); }
  Work* front() const { return held_.front(); }  // The head. REQUIRES: there is one.
  Work* operator[](size_t i) const { return held_[i]; }
  auto begin() const { return held_.begin(); }
  auto end() const { return held_.end(); }
  // How many may touch any memory, and how many need all memory mapped.
  uint32_t barriers() const { return barriers_; }
  uint32_t need_all_mapped() const { return need_all_mapped_; }
  // What it calls the work that was pushed last, and whether that and all before it have gone.
  uint64_t last() const { return pushed_; }
  bool IsPast(uint64_t number) const { return numbers_.empty() || numbers_.front() > number; }

  void Push(Work* work);
  // The first so many go.
  void Pop(size_t count);
  // Whether it was held.
  bool Remove(const Work* work);

  // So many more, from the head on, are to run with their memory wherever it is. Not what may touch
  // anything: that waits until nothing moves. How many were not to yet.
  size_t RunInPlace(size_t count);

  // What blocked threads name, sorted: it does not come free by itself.
  std::vector<ChunkIndex> StuckChunks(Instant now) const;
  // Where a blocked thread may name any chunk, nothing can be remapped before it comes back: what
  // is ahead of its work is to run in place. Whether there is one; `changed` is set where that
  // changed anything.
  bool GiveWayToUnknown(Instant now, bool* changed);

  // Calls `visit` with those right behind `work`, at most so many, until that returns true. Whether
  // it did. `work` is held, or was the head until now.
  template <typename Visit>
  bool AnyBehind(const Work* work, size_t most, Visit visit) const {
    const auto it = std::find(held_.begin(), held_.end(), work);
    const size_t first = it == held_.end() ? 0 : static_cast<size_t>(it - held_.begin()) + 1;
    for (size_t i = first; i < held_.size() && i < first + most; ++i) {
      if (visit(*held_[i])) return true;
    }
    return false;
  }

 private:
  std::deque<Work*> held_;
  std::deque<uint64_t> numbers_;  // Of each, in the order of Push.
  uint64_t pushed_ = 0;
  // The work comes (1), or goes (-1).
  void Count(const Work& work, int by) {
    barriers_ += work.barrier() ? by : 0;
    need_all_mapped_ += work.needs_all_mapped() ? by : 0;
  }
  uint32_t barriers_ = 0, need_all_mapped_ = 0;
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_SCHEDULER_WORK_QUEUE_H_
