// When an onlooker is shown how things stand: some time after they have changed, by the mover's
// thread. That never wakes up for it while nothing happens.
//
// Threads: any, where nothing else is said.
#ifndef VRAMSPAN_RUNTIME_MOVER_SHOWING_H_
#define VRAMSPAN_RUNTIME_MOVER_SHOWING_H_

#include <atomic>
#include <chrono>

#include "runtime/base/mutex.h"
#include "runtime/base/units.h"
#include "runtime/mover/signals.h"

namespace vramspan {

class Onlooker {
 public:
  virtual ~Onlooker() = default;
  // Looks, on the mover's thread. The memory lock is not held.
  virtual void Look() = 0;
};

class Showing {
 public:
  // No more often than this.
  static constexpr std::chrono::milliseconds kEach{500};

  // Before the thread starts: how it is woken.
  void Serve(Mutex* memory_mu, Signals* signals) {
    memory_mu_ = memory_mu;
    signals_ = signals;
  }
  // It outlives this, or is taken back by null: no look goes on then, and the mover may go.
  void Use(Onlooker* onlooker) VS_EXCLUDES(mu_) {
    {
      MutexLock lock(mu_);
      onlooker_ = onlooker;
      used_.store(onlooker != nullptr, std::memory_order_release);
      changed_.store(false, std::memory_order_release);
    }
    Change();
  }
  // Something has changed, of which the thread may not know. Without the memory lock.
  void Change() {
    if (ChangeAwake()) [[unlikely]]
      Wake();
  }

  // --- the mover's thread ---
  // It has changed. Whether nobody had said so.
  bool ChangeAwake() {
    return used_.load(std::memory_order_acquire) && !changed_.load(std::memory_order_relaxed) &&
           !changed_.exchange(true, std::memory_order_acq_rel);
  }
  void ShowIfDue() VS_EXCLUDES(mu_) {
    if (Due() > Duration(0)) return;
    MutexLock lock(mu_);
    next_ = Clock::now() + kEach;
    // Before the look: what changes meanwhile is for the next.
    changed_.store(false, std::memory_order_release);
    if (onlooker_ != nullptr) onlooker_->Look();
  }
  // In how long the next look is due; the longest there is: none is.
  Duration Due() const {
    if (!used_.load(std::memory_order_acquire) || !changed_.load(std::memory_order_acquire)) {
      return Duration::max();
    }
    return next_ - Clock::now();
  }

 private:
  using Clock = std::chrono::steady_clock;

  void Wake() {
    MutexLock lock(*memory_mu_);
    signals_->Wake();
  }

  Mutex* memory_mu_ = nullptr;
  Signals* signals_ = nullptr;
  Mutex mu_;
  Onlooker* onlooker_ VS_GUARDED_BY(mu_) = nullptr;
  std::atomic<bool> used_{false}, changed_{false};
  Clock::time_point next_;
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_MOVER_SHOWING_H_
