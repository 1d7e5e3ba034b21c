// Who uses what may be taken apart: a thread is inside from before it reads the pointer until after
// its last use. Who ends the thing takes the pointer out of sight first, and then waits for those
// who may have read it.
//
// Inside is two atomic increments on a cache line that few threads share. Waiting keeps nobody out,
// and never waits for those who came later. Several may wait, one after the other.
#ifndef VRAMSPAN_RUNTIME_BASE_PRESENCE_H_
#define VRAMSPAN_RUNTIME_BASE_PRESENCE_H_

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>

#include "runtime/base/thread_number.h"

namespace vramspan {

class Presence {
 public:
  // Which of two counts the thread is in: to be given back to Leave, on the same thread.
  using Side = unsigned;

  Side Enter() {
    const Side side = side_.load(std::memory_order_relaxed);
    // Sequentially consistent on both sides: either the waiter sees this count, or this thread
    // sees that the pointer is gone.
    Mine().inside[side].fetch_add(1, std::memory_order_seq_cst);
    return side;
  }
  void Leave(Side side) { Mine().inside[side].fetch_sub(1, std::memory_order_release); }

  // Waits until all have left who were inside; false where some have not within `patience`.
  bool AwaitLeft(std::chrono::nanoseconds patience) {
    const auto until = std::chrono::steady_clock::now() + patience;
    // Twice: who read the side before it changed and counted himself after that is in the other.
    for (int turn = 0; turn < 2; ++turn) {
      const Side left = side_.load(std::memory_order_relaxed);
      side_.store(left ^ 1, std::memory_order_seq_cst);
      for (Slot& slot : slots_) {
        while (slot.inside[left].load(std::memory_order_seq_cst) != 0) {
          if (std::chrono::steady_clock::now() > until) return false;
          std::this_thread::sleep_for(std::chrono::microseconds(20));
        }
      }
    }
    return true;
  }

 private:
  static constexpr size_t kSlots = 64;
  struct alignas(64) Slot {
    std::array<std::atomic<uint32_t>, 2> inside{};
  };

  Slot& Mine() { return slots_[ThreadNumber::Mine() % kSlots]; }

  std::atomic<Side> side_{0};
  std::array<Slot, kSlots> slots_;
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_BASE_PRESENCE_H_
