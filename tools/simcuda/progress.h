#ifndef VRAMSPAN_TOOLS_SIMCUDA_PROGRESS_H_
#define VRAMSPAN_TOOLS_SIMCUDA_PROGRESS_H_

// How far a sequence of numbered steps (a stream's ops, a queue's ops) has come. Steps finish in
// order, so one number tells all: step n has finished when completed() >= n. Thread-safe.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>

#include "tools/simcuda/mutex.h"

namespace simcuda {

class Progress {
 public:
  // The number of the next step. Callers hold whatever lock orders the steps.
  uint64_t AddStep() { return submitted_.fetch_add(1, std::memory_order_acq_rel) + 1; }
  uint64_t submitted() const { return submitted_.load(std::memory_order_acquire); }

  uint64_t completed() const { return completed_.load(std::memory_order_acquire); }
  bool Done(uint64_t step) const { return completed() >= step; }

  // Marks every step up to and with `step` as finished.
  void Complete(uint64_t step);

  void Wait(uint64_t step) const;

  // False when the step had not finished in time.
  bool WaitFor(uint64_t step, std::chrono::microseconds timeout) const;

 private:
  std::atomic<uint64_t> submitted_{0};
  std::atomic<uint64_t> completed_{0};
  mutable std::atomic<int> waiters_{0};
  mutable Mutex mutex_;
  mutable CondVar changed_;
};
using ProgressPtr = std::shared_ptr<Progress>;

// A step to wait for. Default: nothing, done at once.
struct Ticket {
  ProgressPtr progress;
  uint64_t step = 0;

  // All that was submitted so far.
  static Ticket Latest(const ProgressPtr& progress) { return {progress, progress->submitted()}; }

  bool Done() const { return !progress || progress->Done(step); }
  void Wait() const {
    if (progress) progress->Wait(step);
  }
};

}  // namespace simcuda

#endif  // VRAMSPAN_TOOLS_SIMCUDA_PROGRESS_H_
