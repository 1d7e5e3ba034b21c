#ifndef VRAMSPAN_TOOLS_SIMCUDA_HARDWARE_QUEUE_H_
#define VRAMSPAN_TOOLS_SIMCUDA_HARDWARE_QUEUE_H_

// A hardware queue of a context: a FIFO of ops of any number of streams and one worker thread that
// runs them one after the other. An op that waits at the head holds back all behind it, copies too;
// that is the point. Thread-safe.

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "tools/simcuda/mutex.h"
#include "tools/simcuda/op.h"
#include "tools/simcuda/progress.h"

namespace simcuda {

struct QueuedOp {
  OpPtr op;
  std::vector<Ticket> after;  // legacy ordering
  Ticket done;                // the stream's step that this op is
};

class HardwareQueue {
 public:
  // Ops that the queue takes before the submitting call blocks, as measured on an H100.
  static constexpr int kCapacity = 1024;

  explicit HardwareQueue(Context& context) : context_(context) {}

  // Blocks while the queue is full. Every slot is followed by one Push or ReleaseSlot.
  void AcquireSlot();
  void ReleaseSlot();
  void Push(QueuedOp op);

  // The queue's state as a ticket: done when all that was pushed so far has finished.
  Ticket Pushed();

  // Ends the worker when the queue is empty, and waits for it. No Push may follow.
  void Stop();

 private:
  void StartWorker() SIMCUDA_REQUIRES(mutex_);
  void Work();
  void RunOne(QueuedOp& queued);

  Context& context_;
  const ProgressPtr progress_ = std::make_shared<Progress>();

  std::atomic<int> slots_taken_{0};
  std::atomic<int> slot_waiters_{0};

  Mutex mutex_;
  CondVar not_empty_;
  CondVar not_full_;
  CondVar stopped_;
  std::deque<QueuedOp> ops_ SIMCUDA_GUARDED_BY(mutex_);
  bool worker_started_ SIMCUDA_GUARDED_BY(mutex_) = false;
  bool worker_idle_ SIMCUDA_GUARDED_BY(mutex_) = false;
  bool worker_ended_ SIMCUDA_GUARDED_BY(mutex_) = false;
  bool stop_ SIMCUDA_GUARDED_BY(mutex_) = false;
};

}  // namespace simcuda

#endif  // VRAMSPAN_TOOLS_SIMCUDA_HARDWARE_QUEUE_H_
