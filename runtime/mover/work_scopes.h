// Taking work in: what the program's threads do. The fast path, while memory suffices, is a pass
// through the gate and a look at what the thread remembers of the stream.
//
// Threads: all functions may be called from any thread.
#ifndef VRAMSPAN_RUNTIME_MOVER_WORK_SCOPES_H_
#define VRAMSPAN_RUNTIME_MOVER_WORK_SCOPES_H_

#include <absl/types/span.h>

#include <atomic>
#include <chrono>

#include "runtime/memory/memory.h"
#include "runtime/mover/gate.h"
#include "runtime/mover/program_streams.h"
#include "runtime/mover/program_work.h"
#include "runtime/mover/recording.h"
#include "runtime/mover/signals.h"
#include "runtime/mover/work_fingerprints.h"
#include "runtime/scheduler/scheduler.h"

namespace vramspan {

class WorkScopes {
 public:
  struct Parts {
    Scheduler* scheduler;
    Signals* signals;
    Gate* gate;
    ContextWatch* watch;
    ProgramStreams* streams;
    ProgramWork* work;
    WorkFingerprints* prints;
    const Recording* recording;
  };
  // All outlive it.
  WorkScopes(Memory* memory, const Parts& parts) : memory_(*memory), parts_(parts) {}

  // See Mover::Begin, whose scopes these are.
  Status Begin(CUstream stream, absl::Span<const WorkRange> ranges, Access access, uint64_t kernel,
               uint64_t tag, KeptUses* kept);
  Status End(CUstream stream);
  // The calling thread is between the two, of whichever mover.
  static bool InScope();
  // And of this.
  bool InOwnScope() const;

  // Work that is nothing but a move, without a scope. REQUIRES: work is recorded.
  Status Submit(Work::Kind kind, const WorkRange& range, CUstream stream);

  // Whether no thread waits for a turn, or has gone on into the gate within `patience`.
  bool AwaitTurns(std::chrono::milliseconds patience) const;

  // Returns when all work that the stream holds now has been let go.
  void AwaitRelease(CUstream stream);

 private:
  StatusOr<StreamWork*> BeginTracked(CUstream stream, absl::Span<const WorkRange> ranges,
                                     Access access, uint64_t kernel, uint64_t tag, KeptUses* kept);
  // Waits while others have the device, outside of the gate.
  void AwaitTurn() VS_EXCLUDES(memory_.mu);
  // The driver looks captured copies up as it does others, though nothing of them runs.
  StatusOr<StreamWork*> BeginCaptured(absl::Span<const WorkRange> ranges, Access access);
  // What work is as it comes.
  struct NewWork {
    Work::Kind kind = Work::Kind::kScope;
    Access access = Access::kExact;
    uint64_t kernel = 0, tag = 0;
  };
  // Takes such work in, and puts the hold into the stream where it must wait.
  StatusOr<StreamWork*> TakeIn(const NewWork& what, CUstream stream,
                               absl::Span<const WorkRange> ranges, KeptUses* kept = nullptr);
  enum class Taken : uint8_t {
    kRuns,           // At once, or it has waited here.
    kHeld,           // It waits, and so must its stream,
    kHeldAfterMark,  // after a mark that tells when that has come so far.
  };
  StatusOr<Taken> Take(const NewWork& what, StreamState* state, absl::Span<const WorkRange> ranges,
                       KeptUses* kept, StreamWork** out) VS_EXCLUDES(memory_.mu);
  Status HoldStream(StreamWork* work, bool mark);
  Status EndWork(StreamWork* work);

  Memory& memory_;
  const Parts parts_;
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_MOVER_WORK_SCOPES_H_
