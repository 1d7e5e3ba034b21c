// The program's work, from its record to the mark behind it: what the scheduler does not see of it.
//
// Threads: under the memory lock.
#ifndef VRAMSPAN_RUNTIME_MOVER_PROGRAM_WORK_H_
#define VRAMSPAN_RUNTIME_MOVER_PROGRAM_WORK_H_

#include <absl/functional/function_ref.h>
#include <absl/types/span.h>

#include <atomic>
#include <chrono>
#include <optional>

#include "runtime/memory/memory.h"
#include "runtime/memory/run_listener.h"
#include "runtime/mover/context_watch.h"
#include "runtime/mover/mover_accounts.h"
#include "runtime/mover/program_streams.h"
#include "runtime/mover/signals.h"
#include "runtime/mover/work_fingerprints.h"
#include "runtime/mover/work_pool.h"
#include "runtime/scheduler/admission.h"
#include "runtime/scheduler/scheduler.h"

namespace vramspan {

class ProgramWork {
 public:
  struct Options {
    bool traced = false;
    RunListener* listener = nullptr;
  };
  // All outlive it.
  ProgramWork(Memory* memory, Scheduler* scheduler, MoverAccounts* accounts, Signals* signals,
              ContextWatch* watch, ProgramStreams* streams, WorkFingerprints* prints,
              const Options& options);

  // How things stand, for the scheduler.
  Moment At();

  // --- a thread submits; `locked` by it ---
  StreamWork* New() { return pool_.New(); }
  void Recycle(StreamWork* work) { pool_.Recycle(work); }
  // False: chunks count too much work, and it must be taken for such as may touch anything.
  bool CountIn(StreamWork* work);
  // `kept`, where given: what is kept of the ranges.
  void Collect(absl::Span<const WorkRange> ranges, KeptUses* kept, StreamWork* work);
  // Waits until one more may be held.
  void WaitForRoom(absl::Span<const WorkRange> ranges, Access access);
  // Others have the device: new work is to wait for a turn until then at the latest, or no longer.
  void HoldNew(std::optional<std::chrono::steady_clock::time_point> until);
  bool holds_new() const { return holds_new_.load(std::memory_order_relaxed); }  // Any thread.
  // Waits while that is so. REQUIRES: the thread is not inside the gate.
  void AwaitTurn();
  bool awaits_turn() const { return awaiting_turn_ != 0; }
  // It runs at once, or it is held, which `StreamWork::held` tells.
  void Submit(StreamWork* work);
  // It will not run.
  void Cancel(StreamWork* work);
  // Waits while an address that the work may hand to the driver is being remapped.
  Status WaitReachable(const StreamWork& work);
  // Waits while `unmapped` holds, however long the driver takes; false where it refuses to map.
  bool WaitMapped(absl::FunctionRef<bool()> unmapped);

  // --- the mover's thread ---
  // Whether any work has ended, or a stream has come to a mark.
  bool PollMarks();
  bool PollArrivals();
  // The scheduler wants it let go.
  void Release(StreamWork* work);
  // Some may be held no longer: others are let in.
  void MadeRoom();

  // No context of the mover's own: what is held waits in the thread that launches it.
  void WaitInThreads() { in_threads_.store(true, std::memory_order_relaxed); }
  bool waits_in_threads() const { return in_threads_.load(std::memory_order_relaxed); }
  uint32_t begun() const { return begun_; }  // And not known to have ended.

 private:
  using Clock = std::chrono::steady_clock;

  // What it uses in host memory, of that which it names. REQUIRES: it was released just now.
  Bytes InPlace(const StreamWork& work);
  // It may run: what only the mover notes of that.
  void GoesOn(StreamWork* work);
  bool PollStream(StreamState* state, Clock::time_point now);
  void Ended(StreamWork* work);
  void PinAll(StreamWork* work);

  Memory& memory_;
  Scheduler& scheduler_;
  MoverAccounts& accounts_;
  Signals& signals_;
  ContextWatch& watch_;
  ProgramStreams& streams_;
  WorkFingerprints& prints_;
  const Options options_;
  WorkPool pool_;
  std::atomic<bool> in_threads_{false};
  uint32_t begun_ = 0;
  Admission admission_;
  uint32_t let_in_ = 0;  // And not held yet.
  std::atomic<bool> holds_new_{false};
  Clock::time_point hold_until_;
  uint32_t awaiting_turn_ = 0;  // Threads.
  CondVar turn_;
};

// It is on the device, and stays.
void PinHere(Memory* memory, ChunkIndex chunk);

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_MOVER_PROGRAM_WORK_H_
