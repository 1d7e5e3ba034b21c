// The gate: everything that submits GPU work for the program passes through it shared, from entry
// to exit; who must know that nobody is in between takes it exclusively, for microseconds.
//
// Shared passing costs two uncontended atomic increments on a cache line that no other thread
// writes. Exclusive passing never waits for long: a thread may sit inside the driver behind work
// that only the exclusive side can let go, so it gives up after a deadline.
#ifndef VRAMSPAN_RUNTIME_MOVER_GATE_H_
#define VRAMSPAN_RUNTIME_MOVER_GATE_H_

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>

#include "runtime/base/thread_number.h"

namespace vramspan {

class Gate {
 public:
  // Waits while the gate is closed. A thread may pass again inside (counts nest) only if it holds
  // no exclusive side; nested passing never blocks for ever, since a closing side gives up.
  void Enter() {
    Slot& slot = MySlot();
    for (;;) {
      // Sequentially consistent on both sides: either the closing side sees this count, or this
      // thread sees the gate closed.
      slot.inside.fetch_add(1, std::memory_order_seq_cst);
      if (!closed_.load(std::memory_order_seq_cst)) [[likely]] {
        // Threads that share a slot may lose one: it says whether work comes, and about how much.
        slot.passed.store(slot.passed.load(std::memory_order_relaxed) + 1,
                          std::memory_order_relaxed);
        return;
      }
      slot.inside.fetch_sub(1, std::memory_order_release);
      WaitOpen();
    }
  }
  // A thread that is inside waits outside, and then goes on: it keeps nobody from closing the gate,
  // and goes on as who was let in before. REQUIRES: the thread is inside once.
  void StepOut() {
    outside_.fetch_add(1, std::memory_order_acq_rel);
    Exit();
  }
  void StepIn() {
    Enter();
    outside_.fetch_sub(1, std::memory_order_acq_rel);
  }
  uint32_t outside() const { return outside_.load(std::memory_order_acquire); }

  // About how often it was passed.
  uint64_t passed() const {
    uint64_t sum = 0;
    for (const Slot& slot : slots_) sum += slot.passed.load(std::memory_order_relaxed);
    return sum;
  }
  void Exit() { MySlot().inside.fetch_sub(1, std::memory_order_release); }

  // Closes the gate and waits until nobody is inside. Returns false, with the gate open again, when
  // somebody stayed inside past `deadline`. One closer at a time.
  bool Close(std::chrono::nanoseconds deadline);
  // REQUIRES: Close returned true.
  void Open();
  // Waits until everybody who is inside has left, and keeps nobody out. False after `deadline`.
  bool AwaitEmpty(std::chrono::nanoseconds deadline);

 private:
  // More threads than slots share some; that costs speed only.
  static constexpr size_t kSlots = 128;
  struct alignas(128) Slot {  // Two lines: the prefetcher pulls lines in pairs.
    std::atomic<uint32_t> inside{0};
    std::atomic<uint64_t> passed{0};
  };

  Slot& MySlot() { return slots_[ThreadNumber::Mine() % kSlots]; }
  void WaitOpen();
  bool AwaitLeft(std::chrono::steady_clock::time_point until);

  alignas(128) std::atomic<bool> closed_{false};
  std::atomic<uint32_t> outside_{0};
  std::array<Slot, kSlots> slots_;
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_MOVER_GATE_H_
