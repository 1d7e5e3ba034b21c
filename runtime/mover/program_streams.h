// What is known of the program's streams: whether what they carried before work was recorded is
// done, and what becomes of them when they, or their threads, end.
//
// Threads: all functions may be called from any thread; those that need the memory lock say so.
#ifndef VRAMSPAN_RUNTIME_MOVER_PROGRAM_STREAMS_H_
#define VRAMSPAN_RUNTIME_MOVER_PROGRAM_STREAMS_H_

#include <atomic>
#include <memory>
#include <optional>

#include "runtime/memory/memory.h"
#include "runtime/mover/ended_threads.h"
#include "runtime/mover/gate.h"
#include "runtime/mover/mover_accounts.h"
#include "runtime/mover/signals.h"
#include "runtime/mover/streams.h"
#include "runtime/scheduler/scheduler.h"

namespace vramspan {

class ProgramStreams {
 public:
  // All outlive it.
  ProgramStreams(Memory* memory, Scheduler* scheduler, MoverAccounts* accounts, Signals* signals,
                 Gate* gate);
  // No thread that ends is told of from here on.
  void Detach() { ended_threads_->Detach(); }
  // REQUIRES: the context is current, and no state is used any more.
  void FreePages() VS_EXCLUDES(memory_.mu);

  // --- a thread is about to submit to a stream ---
  // Notes that it carries work which is not recorded. No lock where the thread did so before.
  Status NoteUnrecorded(CUstream stream) VS_EXCLUDES(memory_.mu);
  // The state of the calling thread's stream; without a lock where the thread remembers it.
  StatusOr<StreamState*> StateOf(CUstream stream) VS_EXCLUDES(memory_.mu);
  // The stream is destroyed next: the driver crashes on such a handle.
  Status Forget(CUstream stream) VS_EXCLUDES(memory_.mu);
  StreamState* Find(CUstream stream) { return streams_.Find(stream); }

  // --- with work that has been released and not ended, or a mark to settle at ---
  const std::vector<StreamState*>& busy() const { return streams_.busy(); }
  void Busy(StreamState* state) { streams_.Busy(state); }
  // The stream has come as far as work that was recorded: what it carried before is done.
  // `recording`: in which that was.
  void Settled(StreamState* state, uint32_t recording);
  // It came to the mark behind what it carried.
  void Drained(StreamState* state);
  // Something of a stream has ended.
  void Sweep();
  bool draining() const { return draining_ != 0; }

  // --- recording begins ---
  // From here on streams that carry work which was not recorded matter.
  // The caller holds the memory lock, as for RecordingEnded.
  void RecordingBegan() VS_NO_THREAD_SAFETY_ANALYSIS;
  // From here on no user of any memory is known. REQUIRES: the gate is closed.
  void RecordingEnded() VS_NO_THREAD_SAFETY_ANALYSIS;
  // How often it has ended. What was recorded before says nothing of what streams carry since.
  uint32_t recording() const { return recording_; }
  // Marks those streams, so that it is known when that is done. REQUIRES: the gate is closed, and
  // no stream is destroyed without passing it.
  void MarkUnrecorded() VS_EXCLUDES(memory_.mu);
  // All work from before this recording has been waited for.
  void AllSettled(uint32_t recording) VS_EXCLUDES(memory_.mu);
  // Work is not seen any more, for good.
  void StopTracking();

 private:
  void Update();
  // What the state's stream carried is done when it reaches the mark.
  void DrainsAt(StreamState* state, uint32_t mark);
  // REQUIRES: the thread is inside the gate.
  Status ForgetInside(CUstream stream) VS_EXCLUDES(memory_.mu);
  // The mark behind all that a stream carried which ends, or whose thread does. None where all of
  // that is done: a driver may not survive a thread that ends with work in its own stream.
  StatusOr<std::optional<uint32_t>> MarkLast(StreamState* state) VS_EXCLUDES(memory_.mu);

  Memory& memory_;
  Scheduler& scheduler_;
  MoverAccounts& accounts_;
  Signals& signals_;
  Gate& gate_;
  Streams streams_;
  // Changes when what threads remember of their streams is stale.
  std::atomic<uint64_t> caches_;
  bool recorded_ = false;  // Recording has begun.
  uint32_t recording_ = 0;
  uint32_t draining_ = 0;  // Forgotten streams that have yet to settle.
  const std::shared_ptr<EndedThreads> ended_threads_;
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_MOVER_PROGRAM_STREAMS_H_
