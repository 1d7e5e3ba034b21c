// Work that stands still until a test lets it go, and calls that may not return before that.
#ifndef VRAMSPAN_TESTS_CONFORMANCE_GATE_H_
#define VRAMSPAN_TESTS_CONFORMANCE_GATE_H_

#include <cuda.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <thread>

#include "tests/conformance/world.h"

namespace vramspan::conformance {

// Far beyond what anything here takes, so that reaching it means never.
inline constexpr std::chrono::seconds kNever{20};
// What could run has run by then; a call that has not returned is taken for blocked.
inline constexpr std::chrono::milliseconds kLongEnough{300};

// Polls until the condition holds; false at the deadline.
bool Within(std::chrono::milliseconds time, const std::function<bool()>& condition);

// Whether the condition comes true, or stays false.
inline bool Eventually(const std::function<bool()>& condition) { return Within(kNever, condition); }
inline bool StaysFalse(const std::function<bool()>& condition) {
  return !Within(kLongEnough, condition);
}

// A word of page-locked memory that streams wait on and kernels spin on. Values are counted up from
// 1: ticket n waits until the word is n or more. Whatever still waits at the end of the scope is
// let go there, and the context that is current then is synchronized.
class Gate {
 public:
  Gate();
  ~Gate();
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  CUdeviceptr address() const { return word_.device(); }
  // A stream wait; returns its ticket.
  uint32_t Park(CUstream stream);
  void OpenUpTo(uint32_t ticket);
  void OpenAll();

 private:
  const Pinned word_;
  uint32_t last_ = 0;
};

// Runs a function on a thread of its own with a context current. The destructor opens the gate, so
// that a call which waits for held work returns, and joins. What the function throws is thrown by
// Finish.
class Background {
 public:
  Background(Gate& gate, CUcontext context, std::function<void()> work);
  ~Background();
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;

  bool done() const { return done_.load(); }
  // Waits for the end, and opens nothing. REQUIRES: it can end.
  void Finish();

 private:
  Gate& gate_;
  std::atomic<bool> done_{false};
  std::exception_ptr error_;  // the thread's until it is joined
  std::thread thread_;
};

}  // namespace vramspan::conformance

#endif  // VRAMSPAN_TESTS_CONFORMANCE_GATE_H_
