#include "tools/simcuda/hardware_queue.h"

#include <utility>

#include "tools/simcuda/context.h"
#include "tools/simcuda/driver_thread.h"
#include "tools/simcuda/fault.h"

namespace simcuda {
namespace {

// How often a blocked worker looks whether its context died. Only then does the figure matter.
constexpr std::chrono::milliseconds kAbandonPoll{50};

void AwaitTicket(const Ticket& ticket, const Exec& exec) {
  while (!ticket.Done() && !exec.Abandoned()) {
    ticket.progress->WaitFor(ticket.step, kAbandonPoll);
  }
}

}  // namespace

void HardwareQueue::AcquireSlot() {
  if (slots_taken_.fetch_add(1, std::memory_order_seq_cst) < kCapacity) return;
  slots_taken_.fetch_sub(1, std::memory_order_seq_cst);
  slot_waiters_.fetch_add(1, std::memory_order_seq_cst);
  {
    MutexLock lock(mutex_);
    for (;;) {
      int taken = slots_taken_.load(std::memory_order_seq_cst);
      if (taken >= kCapacity) {
        not_full_.Wait(mutex_);
      } else if (slots_taken_.compare_exchange_strong(taken, taken + 1)) {
        break;
      }
    }
  }
  slot_waiters_.fetch_sub(1, std::memory_order_relaxed);
}

void HardwareQueue::ReleaseSlot() {
  slots_taken_.fetch_sub(1, std::memory_order_seq_cst);
  if (slot_waiters_.load(std::memory_order_seq_cst) == 0) return;
  MutexLock lock(mutex_);
  not_full_.NotifyOne();
}

void HardwareQueue::Push(QueuedOp op) {
  bool wake;
  {
    MutexLock lock(mutex_);
    ops_.push_back(std::move(op));
    progress_->AddStep();
    if (!worker_started_) StartWorker();
    wake = worker_idle_;
    worker_idle_ = false;
  }
  if (wake) not_empty_.NotifyOne();
}

Ticket HardwareQueue::Pushed() {
  MutexLock lock(mutex_);
  return Ticket::Latest(progress_);
}

void HardwareQueue::Stop() {
  MutexLock lock(mutex_);
  stop_ = true;
  not_empty_.NotifyOne();
  while (worker_started_ && !worker_ended_) stopped_.Wait(mutex_);
}

void HardwareQueue::StartWorker() {
  worker_started_ = true;
  InstallFaultHandler();
  // Detached: at process exit workers may be parked in a wait that nothing will ever open.
  StartDriverThread("simcuda-queue", [this] { Work(); });
}

void HardwareQueue::Work() {
  std::deque<QueuedOp> batch;
  uint64_t step = 0;
  for (;;) {
    {
      MutexLock lock(mutex_);
      while (ops_.empty() && !stop_) {
        worker_idle_ = true;
        not_empty_.Wait(mutex_);
      }
      worker_idle_ = false;
      if (ops_.empty()) {
        worker_ended_ = true;
        stopped_.NotifyAll();
        return;
      }
      batch.swap(ops_);
    }
    for (QueuedOp& queued : batch) {
      RunOne(queued);
      // Resources of the op (staged bytes, a module kept loaded) go before anyone hears of its end.
      queued.op.reset();
      queued.done.progress->Complete(queued.done.step);
      progress_->Complete(++step);
      ReleaseSlot();
    }
    batch.clear();
  }
}

void HardwareQueue::RunOne(QueuedOp& queued) {
  const Exec exec(context_);
  for (const Ticket& ticket : queued.after) AwaitTicket(ticket, exec);
  CUresult error = context_.error();
  if (error == CUDA_SUCCESS) {
    error = RunGuarded(*queued.op, exec);
    if (error != CUDA_SUCCESS) context_.Kill(error);
  } else {
    queued.op->Skip(error);
  }
}

}  // namespace simcuda
