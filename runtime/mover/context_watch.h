// Whether the program's context lives. In a dead one no mark is reached any more, so whoever waits
// for one looks now and then.
//
// Threads: under the memory lock.
#ifndef VRAMSPAN_RUNTIME_MOVER_CONTEXT_WATCH_H_
#define VRAMSPAN_RUNTIME_MOVER_CONTEXT_WATCH_H_

#include <absl/functional/function_ref.h>
#include <cuda.h>

#include <chrono>

#include "runtime/memory/memory.h"
#include "runtime/mover/mover_accounts.h"
#include "runtime/mover/signals.h"
#include "runtime/scheduler/scheduler.h"

namespace vramspan {

class ContextWatch {
 public:
  // All outlive it.
  ContextWatch(Memory* memory, Scheduler* scheduler, MoverAccounts* accounts, Signals* signals)
      : memory_(*memory), scheduler_(*scheduler), accounts_(*accounts), signals_(*signals) {}

  // Makes the stream that tells whether the context lives. False, with an error on record: none.
  bool Start() VS_EXCLUDES(memory_.mu);
  // REQUIRES: nobody waits here any more.
  void Stop() VS_EXCLUDES(memory_.mu);

  bool dead() const { return dead_; }
  // Waits on Signals::done, or on `told`, until `condition` holds.
  void WaitUntil(absl::FunctionRef<bool()> condition) { WaitUntil(signals_.done(), condition); }
  void WaitUntil(CondVar& told, absl::FunctionRef<bool()> condition) VS_NO_THREAD_SAFETY_ANALYSIS;

 private:
  using Clock = std::chrono::steady_clock;

  Memory& memory_;
  Scheduler& scheduler_;
  MoverAccounts& accounts_;
  Signals& signals_;
  // Of the program's context, never used: to ask whether that lives.
  CUstream stream_ = nullptr;
  bool dead_ = false;
  Clock::time_point looked_;  // Somebody did.
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_MOVER_CONTEXT_WATCH_H_
