#include "tools/simcuda/value_wait.h"

#include <sched.h>
#include <sys/prctl.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <vector>

#include "tools/simcuda/driver_thread.h"
#include "tools/simcuda/fault.h"
#include "tools/simcuda/mutex.h"

namespace simcuda {
namespace {

uint64_t ReadWord(const ValueWait& wait) {
  if (wait.wide) {
    return __atomic_load_n(reinterpret_cast<const uint64_t*>(wait.address), __ATOMIC_ACQUIRE);
  }
  return __atomic_load_n(reinterpret_cast<const uint32_t*>(wait.address), __ATOMIC_ACQUIRE);
}

struct Waiter {
  const ValueWait& wait;
  const Exec& exec;
  bool ended = false;
  CondVar ended_changed;
};

// The one looking thread. Leaked: parked workers may use it until the process ends.
class Poller {
 public:
  static Poller& Get() {
    static Poller* const poller = new Poller();
    return *poller;
  }

  void Await(Waiter* waiter) {
    MutexLock lock(mutex_);
    if (!started_) {
      started_ = true;
      StartDriverThread("simcuda-poll", [this] { Poll(); });
    }
    waiters_.push_back(waiter);
    count_.store(static_cast<int>(waiters_.size()), std::memory_order_relaxed);
    poked_ = true;
    wake_.NotifyOne();
    while (!waiter->ended) waiter->ended_changed.Wait(mutex_);
  }

  void Poke() {
    // A waiter that is missed here looks again within the polling interval.
    if (count_.load(std::memory_order_relaxed) == 0) return;
    MutexLock lock(mutex_);
    poked_ = true;
    wake_.NotifyOne();
  }

 private:
  static bool Ended(const Waiter& waiter) {
    uint64_t current = 0;
    return waiter.exec.Abandoned() ||
           !ReadWordGuarded(waiter.wait.address, waiter.wait.wide, &current) ||
           Satisfied(waiter.wait, current);
  }

  void Poll() {
    prctl(PR_SET_TIMERSLACK,
          1000UL);  // nanoseconds; the default of 50 µs would double the interval
    int quiet_rounds = 0;
    MutexLock lock(mutex_);
    for (;;) {
      while (waiters_.empty()) wake_.Wait(mutex_);
      const size_t before = waiters_.size();
      waiters_.erase(std::remove_if(waiters_.begin(), waiters_.end(),
                                    [](Waiter* waiter) {
                                      if (!Ended(*waiter)) return false;
                                      waiter->ended = true;
                                      waiter->ended_changed.NotifyOne();
                                      return true;
                                    }),
                     waiters_.end());
      count_.store(static_cast<int>(waiters_.size()), std::memory_order_relaxed);
      quiet_rounds = (before != waiters_.size() || poked_) ? 0 : quiet_rounds + 1;
      poked_ = false;
      if (!waiters_.empty()) {
        wake_.WaitFor(mutex_, std::chrono::microseconds(std::min(50, 8 + quiet_rounds / 4)));
      }
    }
  }

  Mutex mutex_;
  CondVar wake_;
  std::vector<Waiter*> waiters_ SIMCUDA_GUARDED_BY(mutex_);
  bool started_ SIMCUDA_GUARDED_BY(mutex_) = false;
  bool poked_ SIMCUDA_GUARDED_BY(mutex_) = false;
  std::atomic<int> count_{0};
};

}  // namespace

bool Satisfied(const ValueWait& wait, uint64_t current) {
  const uint64_t mask = wait.wide ? ~uint64_t{0} : 0xFFFFFFFFu;
  const uint64_t value = wait.value & mask;
  switch (wait.flags & 3u) {
    case CU_STREAM_WAIT_VALUE_EQ:
      return current == value;
    case CU_STREAM_WAIT_VALUE_AND:
      return (current & value) != 0;
    case CU_STREAM_WAIT_VALUE_NOR:
      return (~(current | value) & mask) != 0;
    default:
      return wait.wide ? static_cast<int64_t>(current - value) >= 0
                       : static_cast<int32_t>(static_cast<uint32_t>(current - value)) >= 0;
  }
}

void AwaitValue(const Exec& exec, const ValueWait& wait) {
  // A flag that opens at once is not worth two thread switches.
  for (int i = 0; i < 8; ++i) {
    if (Satisfied(wait, ReadWord(wait)) || exec.Abandoned()) return;
    sched_yield();
  }
  while (!Satisfied(wait, ReadWord(wait)) && !exec.Abandoned()) {
    Waiter waiter{wait, exec};
    Poller::Get().Await(&waiter);
  }
}

void ValueMayHaveChanged() { Poller::Get().Poke(); }

}  // namespace simcuda
