#include "runtime/mover/gate.h"

#include <thread>

namespace vramspan {

void Gate::WaitOpen() { closed_.wait(true, std::memory_order_acquire); }

bool Gate::Close(std::chrono::nanoseconds deadline) {
  const auto until = std::chrono::steady_clock::now() + deadline;
  closed_.store(true, std::memory_order_seq_cst);
  for (Slot& slot : slots_) {
    while (slot.inside.load(std::memory_order_seq_cst) != 0) {
      if (std::chrono::steady_clock::now() > until) {
        Open();
        return false;
      }
      std::this_thread::yield();
    }
  }
  return true;
}

void Gate::Open() {
  closed_.store(false, std::memory_order_seq_cst);
  closed_.notify_all();
}

}  // namespace vramspan
