#include "tools/simcuda/progress.h"

namespace simcuda {

// A waiter announces itself before it looks, and a completer looks for waiters after it stored,
// both sequentially consistent: one of the two sees the other.
void Progress::Complete(uint64_t step) {
  completed_.store(step, std::memory_order_seq_cst);
  if (waiters_.load(std::memory_order_seq_cst) == 0) return;
  MutexLock lock(mutex_);
  changed_.NotifyAll();
}

void Progress::Wait(uint64_t step) const {
  if (Done(step)) return;
  waiters_.fetch_add(1, std::memory_order_seq_cst);
  {
    MutexLock lock(mutex_);
    while (completed_.load(std::memory_order_seq_cst) < step) changed_.Wait(mutex_);
  }
  waiters_.fetch_sub(1, std::memory_order_relaxed);
}

bool Progress::WaitFor(uint64_t step, std::chrono::microseconds timeout) const {
  if (Done(step)) return true;
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  waiters_.fetch_add(1, std::memory_order_seq_cst);
  bool done = false;
  {
    MutexLock lock(mutex_);
    for (;;) {
      done = completed_.load(std::memory_order_seq_cst) >= step;
      if (done) break;
      const auto left = deadline - std::chrono::steady_clock::now();
      if (left <= std::chrono::steady_clock::duration::zero()) break;
      changed_.WaitFor(mutex_, std::chrono::duration_cast<std::chrono::microseconds>(left) +
                                   std::chrono::microseconds(1));
    }
  }
  waiters_.fetch_sub(1, std::memory_order_relaxed);
  return done;
}

}  // namespace simcuda
