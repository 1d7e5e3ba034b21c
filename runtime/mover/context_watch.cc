#include "runtime/mover/context_watch.h"

#include <algorithm>

namespace vramspan {
namespace {

constexpr std::chrono::milliseconds kWatchPeriod{100};

// What a context that cannot go on answers to everything.
bool IsFatal(CUresult result) {
  switch (result) {
    case CUDA_ERROR_DEINITIALIZED:
    case CUDA_ERROR_INVALID_CONTEXT:
    case CUDA_ERROR_ECC_UNCORRECTABLE:
    case CUDA_ERROR_NVLINK_UNCORRECTABLE:
    case CUDA_ERROR_ILLEGAL_ADDRESS:
    case CUDA_ERROR_LAUNCH_TIMEOUT:
    case CUDA_ERROR_CONTEXT_IS_DESTROYED:
    case CUDA_ERROR_ASSERT:
    case CUDA_ERROR_HARDWARE_STACK_ERROR:
    case CUDA_ERROR_ILLEGAL_INSTRUCTION:
    case CUDA_ERROR_MISALIGNED_ADDRESS:
    case CUDA_ERROR_INVALID_ADDRESS_SPACE:
    case CUDA_ERROR_INVALID_PC:
    case CUDA_ERROR_LAUNCH_FAILED:
      return true;
    default:
      return false;
  }
}

}  // namespace

bool ContextWatch::Start() {
  {
    MutexLock lock(memory_.mu);
    if (stream_ != nullptr) return true;
  }
  // Pushed again: one that could not be popped may cover the thread's own.
  ScopedContext current(memory_.driver(), memory_.options().context);
  Status status = current.status();
  CUstream made = nullptr;
  if (status.ok()) {
    status = Check(memory_.driver()->StreamCreate(&made, CU_STREAM_NON_BLOCKING), "cuStreamCreate",
                   "to watch the context");
  }
  MutexLock lock(memory_.mu);
  if (status.ok()) stream_ = made;
  accounts_.Record(status);
  return status.ok();
}

void ContextWatch::Stop() {
  CUstream stream;
  {
    MutexLock lock(memory_.mu);
    stream = std::exchange(stream_, nullptr);
  }
  if (stream == nullptr) return;
  memory_.driver().RecordBackgroundError(
      Check(memory_.driver()->StreamDestroy(stream), "cuStreamDestroy", "of the mover"));
}

void ContextWatch::WaitUntil(CondVar& told, absl::FunctionRef<bool()> condition) {
  auto looked = Clock::now();
  while (!condition()) {
    told.WaitFor(memory_.mu, kWatchPeriod);
    // The thread notifies often, so the clock counts and not whether it did. One looks for all.
    const auto now = Clock::now();
    const CUstream stream = stream_;
    if (stream == nullptr || dead_) continue;
    if (now - std::max(looked, looked_) < kWatchPeriod) continue;
    looked = looked_ = now;
    memory_.mu.Unlock();
    Status alive;
    {
      // Relaxed: a query of this thread's must not ruin a capture of another's.
      ScopedContext current(memory_.driver(), memory_.options().context);
      alive = current.status();
      if (alive.ok()) {
        alive = Check(memory_.driver()->StreamQuery(stream), "cuStreamQuery",
                      "of the program's context");
      }
    }
    memory_.mu.Lock();
    if (alive.ok() || ToCuResult(alive) == CUDA_ERROR_NOT_READY) continue;
    // What kills a context stays: an error that comes and goes says nothing of the work in it.
    accounts_.Record(alive);
    if (!IsFatal(ToCuResult(alive))) continue;
    dead_ = true;
    scheduler_.work().ContextDied();
    signals_.Wake();
  }
}

}  // namespace vramspan
