#include "runtime/mover/gate.h"

#include <thread>

namespace vramspan {
namespace {

constexpr std::chrono::milliseconds kSpin{1};
constexpr std::chrono::microseconds kLook{20};

}  // namespace

void Gate::WaitOpen() { closed_.wait(true, std::memory_order_acquire); }

bool Gate::Close(std::chrono::nanoseconds deadline) {
  const auto until = std::chrono::steady_clock::now() + deadline;
  closed_.store(true, std::memory_order_seq_cst);
  if (AwaitLeft(until)) return true;
  Open();
  return false;
}

bool Gate::AwaitEmpty(std::chrono::nanoseconds deadline) {
  return AwaitLeft(std::chrono::steady_clock::now() + deadline);
}

bool Gate::AwaitLeft(std::chrono::steady_clock::time_point until) {
  const auto spin = std::chrono::steady_clock::now() + kSpin;
  for (Slot& slot : slots_) {
    while (slot.inside.load(std::memory_order_seq_cst) != 0) {
      const auto now = std::chrono::steady_clock::now();
      if (now > until) return false;
      if (now < spin) {
        std::this_thread::yield();
      } else {
        std::this_thread::sleep_for(kLook);
      }
    }
  }
  return true;
}

void Gate::Open() {
  closed_.store(false, std::memory_order_seq_cst);
  closed_.notify_all();
}

}  // namespace vramspan
