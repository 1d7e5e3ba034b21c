// The calls that were entered and have not exited, over all threads: so that a subscriber goes only
// when nobody waits for an exit. Threads: any; those that share no slot share no cache line.
#ifndef VRAMSPAN_CUPTI_TRACER_CALLS_UNDER_WAY_H_
#define VRAMSPAN_CUPTI_TRACER_CALLS_UNDER_WAY_H_

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <thread>

#include "runtime/base/thread_number.h"

namespace vramspan {

class CallsUnderWay {
 public:
  // A call of this thread begins. False once closed: then it does not count.
  bool Enter() {
    std::atomic<int64_t>& count = Mine();
    count.fetch_add(1);
    if (!closed_.load()) [[likely]] {
      ++depth_;
      return true;
    }
    count.fetch_sub(1);
    return false;
  }
  // False where the thread has no call that counts.
  static bool Entered() { return depth_ != 0; }
  // A call that counts ends. REQUIRES: Entered().
  void Exit() {
    --depth_;
    Mine().fetch_sub(1, std::memory_order_release);
  }

  // No more calls count from here on; true when those that did have exited. False, and open again,
  // when some have not within `patience`.
  bool Close(std::chrono::milliseconds patience) {
    // Enter counts and then looks; this looks the other way round: one of the two sees the other.
    closed_.store(true);
    const auto until = std::chrono::steady_clock::now() + patience;
    while (!None()) {
      if (std::chrono::steady_clock::now() >= until) {
        closed_.store(false);
        return false;
      }
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
    return true;
  }
  void Open() { closed_.store(false); }
  bool closed() const { return closed_.load(); }

 private:
  struct alignas(64) Slot {
    std::atomic<int64_t> count{0};
  };

  std::atomic<int64_t>& Mine() { return slots_[ThreadNumber::Mine() % slots_.size()].count; }
  bool None() const {
    for (const Slot& slot : slots_) {
      if (slot.count.load() != 0) return false;
    }
    return true;
  }

  static inline thread_local int depth_ = 0;  // Of nested calls.
  std::atomic<bool> closed_{false};
  std::array<Slot, 64> slots_;
};

}  // namespace vramspan

#endif  // VRAMSPAN_CUPTI_TRACER_CALLS_UNDER_WAY_H_
