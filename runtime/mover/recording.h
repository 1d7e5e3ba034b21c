// When work is recorded: what moves need is made ready, and from a moment on in which no thread is
// inside a scope, every piece of work is seen. In such a moment it ends again, once all memory has
// been on the device for a while.
//
// Threads: any, where nothing else is said.
#ifndef VRAMSPAN_RUNTIME_MOVER_RECORDING_H_
#define VRAMSPAN_RUNTIME_MOVER_RECORDING_H_

#include <atomic>
#include <optional>
#include <vector>

#include "runtime/base/thread.h"
#include "runtime/memory/memory.h"
#include "runtime/mover/context_room.h"
#include "runtime/mover/context_watch.h"
#include "runtime/mover/foreign_work.h"
#include "runtime/mover/gate.h"
#include "runtime/mover/move_maker.h"
#include "runtime/mover/mover_accounts.h"
#include "runtime/mover/program_streams.h"
#include "runtime/mover/program_work.h"
#include "runtime/mover/signals.h"
#include "runtime/scheduler/recording_end.h"
#include "runtime/scheduler/scheduler.h"

namespace vramspan {

class Recording {
 public:
  struct Options {
    bool own_context = true;
    bool traced = false;
    // The contexts but this one whose work has passed by. Null: nobody's does.
    std::vector<CUcontext> (*others)(CUcontext own) = nullptr;
    ContextRoom* room = nullptr;  // Null: nobody is asked.
    // How long all is on the device before recording ends. None: it never does.
    std::optional<Duration> rest_after;
  };
  // What beginning needs, and tells. All outlive it.
  struct Parts {
    Scheduler* scheduler;
    MoverAccounts* accounts;
    Signals* signals;
    Gate* gate;
    ContextWatch* watch;
    ProgramStreams* streams;
    ProgramWork* work;
    MoveMaker* maker;
    ForeignWork* foreign;
  };
  Recording(Memory* memory, const Parts& parts, const Options& options)
      : memory_(*memory),
        parts_(parts),
        options_(options),
        end_(options.rest_after.value_or(RecordingEnd::kLeast)) {}
  // Waits for what other contexts had submitted.
  void Join() { others_.Join(); }

  // Work is recorded: ranges count from here on.
  bool begun() const { return begun_.load(std::memory_order_acquire); }
  // How often it has begun.
  uint64_t times() const { return times_.load(std::memory_order_acquire); }
  // Device memory that the context of the mover's own takes, once there is one: as measured, else
  // the room that was given for it.
  Bytes overhead() const { return overhead_.load(std::memory_order_acquire); }

  // Asks the mover's thread for what memory is short of.
  void Ask();
  // The same, and where recording is to begin, or only to be made ready, waits for that a second
  // or so.
  void AskAndWait() VS_EXCLUDES(memory_.mu);
  // Begins it, whatever memory is there, and waits for that. It does not end any more.
  Status Require() VS_EXCLUDES(memory_.mu);

  // --- the mover's thread ---
  bool asked() const { return wanted_.load(std::memory_order_relaxed); }
  // Whether anything was made ready, or recording has begun.
  bool TryBegin() VS_EXCLUDES(memory_.mu);
  // Whether to try to end it now. The caller holds the memory lock.
  bool MayEnd() VS_NO_THREAD_SAFETY_ANALYSIS;
  void TryEnd() VS_EXCLUDES(memory_.mu);

 private:
  // REQUIRES: the gate is closed.
  bool End() VS_EXCLUDES(memory_.mu);
  // What moves need: made before they are needed, while the device fills up.
  bool Prepare() VS_EXCLUDES(memory_.mu);
  StatusOr<std::unique_ptr<CopyEngine>> MakeEngine(bool* own);
  // Device memory that nobody but the pool has; what is left of it tells what a context took.
  std::optional<Bytes> FreeAndHeld();
  // Begins foreign work for what other contexts have submitted, and tells which they are.
  // REQUIRES: the gate is closed, so that all they submit later is seen.
  std::vector<CUcontext> BeginOthers() VS_EXCLUDES(memory_.mu);
  // The foreign work ends when theirs has. Where nobody can wait for that, nothing ever moves.
  void WaitForOthers(std::vector<CUcontext> others);

  Memory& memory_;
  const Parts parts_;
  const Options options_;
  std::atomic<bool> begun_{false};  // Changes under the closed gate only.
  std::atomic<uint64_t> times_{0};
  std::atomic<bool> wanted_{false};
  std::atomic<bool> ready_wanted_{false};  // Prepare, and no more yet.
  std::atomic<bool> ready_{false};         // That was done.
  std::atomic<Bytes> overhead_{};
  Thread others_;
  std::atomic<bool> waits_for_others_{false};
  RecordingEnd end_ VS_GUARDED_BY(memory_.mu);
  bool required_ VS_GUARDED_BY(memory_.mu) = false;
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_MOVER_RECORDING_H_
