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
      if (!closed_.load(std::memory_order_seq_cst)) [[likely]]
        return;
      slot.inside.fetch_sub(1, std::memory_order_release);
      WaitOpen();
    }
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
  };

  Slot& MySlot() { return slots_[ThreadNumber::Mine() % kSlots]; }
  void WaitOpen();
  bool AwaitLeft(std::chrono::steady_clock::time_point until);

  alignas(128) std::atomic<bool> closed_{false};
  std::array<Slot, kSlots> slots_;
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_MOVER_GATE_H_
