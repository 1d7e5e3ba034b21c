// The mover: takes declared work in, holds what needs its memory moved, and on a thread of its own
// plans over the queue of held work, copies, remaps and lets work go. docs/life-of-a-launch.md
// follows one launch through it.
//
// Why nothing here can hang a program or lose its data:
//  - The launching thread never waits (a stream wait holds the GPU side instead), and the mover
//    never needs a thread that may be inside the driver: opening a hold is one store.
//  - A chunk is remapped only while no released work that has not finished has it in its set; new
//    work that names it is held. Every remap may be given up: the chunk then stays where it is.
//  - What cannot be served within the deadline, because work in flight does not end, is let go with
//    its memory in place.
//
// Threads: all functions may be called from any thread. The memory lock guards the queue and the
// chunks; it is never held over a driver call that may wait.
#ifndef VRAMSPAN_RUNTIME_MOVER_MOVER_H_
#define VRAMSPAN_RUNTIME_MOVER_MOVER_H_

#include <absl/functional/function_ref.h>
#include <absl/types/span.h>

#include <atomic>
#include <chrono>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "runtime/base/thread.h"
#include "runtime/memory/memory.h"
#include "runtime/memory/run_listener.h"
#include "runtime/mover/gate.h"
#include "runtime/mover/move_maker.h"
#include "runtime/mover/mover_accounts.h"
#include "runtime/mover/stream_fingerprints.h"
#include "runtime/mover/streams.h"
#include "runtime/mover/work_pool.h"
#include "runtime/scheduler/scheduler.h"
#include "runtime/scheduler/stalls.h"

namespace vramspan {

struct MoverOptions {
  bool own_context = true;
  std::chrono::microseconds deadline{20000};
  // Every call that submits work or destroys a stream passes through here.
  bool traced = false;
  // Fingerprints behind traced kernels. To make ready for them waits for the context's work.
  bool fingerprints = true;
  // What is hot comes back by itself while nothing else is to be done.
  bool idle_fetches = true;
  Prices prices;
  RunListener* listener = nullptr;  // Outlives the mover.
  // The contexts but this one whose work has passed by (BeginUntracked). Null: nobody's does.
  std::vector<CUcontext> (*others)(CUcontext own) = nullptr;
};

// A time of the mover's own clock, as decisions have it.
inline Instant InstantOf(std::chrono::steady_clock::time_point t) {
  return Instant(t.time_since_epoch());
}

class Mover final : SchedulerOwner {
 public:
  // `memory` outlives the mover. An error, naming the thread, where none can be made for it.
  static StatusOr<std::unique_ptr<Mover>> Start(Memory* memory, const MoverOptions& options);
  // Waits for declared work and moves under way, then ends the thread. REQUIRES: AwaitScopes held.
  ~Mover();
  Mover(const Mover&) = delete;
  Mover& operator=(const Mover&) = delete;

  // The calling thread is about to submit work to `stream`. On success End must follow on the same
  // thread; on failure nothing is open.
  // `kernel` stands for what is launched, where that is known: equal where the work is the same.
  // `tag`: what the listener knows the work by.
  Status Begin(CUstream stream, absl::Span<const WorkRange> ranges, Access access = Access::kExact,
               uint64_t kernel = 0, uint64_t tag = 0);
  Status End(CUstream stream);
  Status Forget(CUstream stream);
  // Returns when all work that the stream holds now has been let go. For a thread that is about to
  // wait for the stream: in the driver it would spin, and with many such threads those that move
  // memory get no processor (an H100 with 16 cores: 1,000 threads 12 s, with this mover's threads
  // at another priority 0.4 s).
  void AwaitRelease(CUstream stream);
  // What is known of a kernel before it was seen here (KernelHistory::Teach).
  void TeachKernel(uint64_t kernel, double passes, uint64_t resident_ns);
  // The calling thread is between Begin and End, of whichever mover.
  static bool InScope();
  // Work is recorded: ranges count from here on.
  bool tracking() const { return tracking_.load(std::memory_order_acquire); }
  // Device memory that the context of the mover's own takes, once there is one.
  Bytes overhead() const { return overhead_.load(std::memory_order_acquire); }

  // Moves by request, ordered in `stream` as work is.
  Status Prefetch(DevicePtr ptr, Bytes size, bool to_device, CUstream stream);
  // Fetches the range, waits for that, and pins its chunks; all or nothing.
  Status Pin(DevicePtr ptr, Bytes size);
  Status Unpin(DevicePtr ptr, Bytes size);
  // Pin, but what is on the device already is pinned where it is, whatever uses it, and what stands
  // in the way of the rest for the moment is outwaited.
  Status Hold(DevicePtr ptr, Bytes size);

  // Unmaps [p, p + size), in which these are the mappings of chunks: all or, on an error, none.
  // Waits until what names their memory has ended, at most a second, and until no move of it is
  // under way; other work is not waited for. What they had, in their order.
  StatusOr<std::vector<Memory::Detached>> Unmap(absl::Span<const DevicePtr> mappings, DevicePtr p,
                                                Bytes size) VS_EXCLUDES(memory_.mu);
  // Puts `by` behind the mappings of one piece of memory, in its place: waits until no work may use
  // it, then `copy` is called while nobody submits any, and `open` for each mapping that shows
  // `by`, to let others touch it. What they had. An error changes nothing.
  StatusOr<Memory::Detached> Replace(absl::Span<const DevicePtr> mappings, Bytes size,
                                     CUmemGenericAllocationHandle by,
                                     absl::FunctionRef<Status(const Memory::Detached&)> copy,
                                     absl::FunctionRef<Status(DevicePtr)> open)
      VS_EXCLUDES(memory_.mu, sharing_);

  // Whole chunks, one physical handle each, that can be exported as file descriptors.
  struct Shared {
    struct Piece {
      CUmemGenericAllocationHandle handle = 0;
      Bytes size;
    };
    DevicePtr base;
    std::vector<Piece> pieces;
  };
  // Pins the range, puts memory of the same contents behind it that other processes can be given,
  // and says what that is; the handles are good until the range is freed. Waits for the context's
  // work, and for moments in which none that is recorded uses a chunk. Memory for one chunk more is
  // needed meanwhile, beyond the budget. ResourceExhausted: no room to pin; Unavailable: none for
  // that chunk; DeadlineExceeded: work never let go of one. On an error chunks may have become
  // shareable already, but none stays pinned for it.
  StatusOr<Shared> Share(DevicePtr ptr, Bytes size) VS_EXCLUDES(sharing_);

  // The budget was lowered or memory was allocated on the host: look again.
  void Wake();
  // Wake, and where memory has become short wait until work is recorded (at most a second or so):
  // so that the work that follows is seen. Does not wait inside a scope.
  void WakeAndStartTracking();
  // Around a call that looks memory up in the driver and is not submitted work: all that is
  // unmapped is mapped again, and nothing is remapped before EndAddressQuery, nor left unmapped for
  // a while. One load while memory suffices; false then, and there is nothing to end.
  bool BeginAddressQuery();
  void EndAddressQuery();
  // Around work in another context that touches memory here, and may write it: nothing moves. Waits
  // for what does. False while memory suffices, and there is nothing to end.
  // REQUIRES of EndForeignWork: the work is done.
  bool BeginForeignWork();
  void EndForeignWork();
  // Around the submission of work in another context while this one is not tracking, which may
  // touch memory here as well: what has been submitted when memory becomes short is waited for
  // before anything moves. Both only touch a counter of the thread's.
  void BeginUntracked() { gate_.Enter(); }
  void EndUntracked() { gate_.Exit(); }
  // Nothing moves from here on, for good; work runs with its memory where it is. True when nothing
  // is under way any more and all memory is mapped, so that work may go unseen; false where that
  // takes longer than a few seconds. Not inside a scope.
  bool StopMoving();
  // Whether no thread is in a scope, or leaves it within `patience`: for whoever takes the mover
  // apart, when none comes any more. A thread that died in one never leaves it.
  bool AwaitScopes(std::chrono::milliseconds patience) { return gate_.AwaitEmpty(patience); }
  // Waits until no declared work is queued or in flight and no move is wanted or under way.
  Status Synchronize();
  // Returns and forgets the first failure of a background move.
  Status TakeError();
  MoverStatistics statistics();

 private:
  using Clock = std::chrono::steady_clock;
  static Instant Now() { return InstantOf(Clock::now()); }
  // All that is queued here is of the mover's own making.
  static StreamWork* Own(Work* work) { return static_cast<StreamWork*>(work); }
  static const StreamWork* Own(const Work* work) { return static_cast<const StreamWork*>(work); }
  class EndedThreads;

  Mover(Memory* memory, const MoverOptions& options) VS_NO_THREAD_SAFETY_ANALYSIS;

  // --- the scheduler's owner; under the lock ---
  void DropHostCopy(ChunkIndex chunk) override VS_NO_THREAD_SAFETY_ANALYSIS {
    memory_.DropHostCopy(chunk);
  }
  void ForEachRunning(absl::FunctionRef<void(const Work&)> visit) override;
  Moment At() VS_REQUIRES(memory_.mu);

  // --- taking work in (mover_submit.cc) ---
  Status BeginFast(CUstream stream);
  StatusOr<StreamWork*> BeginCaptured(absl::Span<const WorkRange> ranges, Access access);
  StatusOr<StreamWork*> BeginTracked(CUstream stream, absl::Span<const WorkRange> ranges,
                                     Access access, uint64_t kernel, uint64_t tag);
  // Takes `work` in for `stream` (none: the host waits) and puts the hold into the stream.
  Status Submit(StreamWork* work, CUstream stream, absl::Span<const WorkRange> ranges);
  // The state of the calling thread's stream; without a lock where the thread remembers it.
  StatusOr<StreamState*> StateOf(CUstream stream) VS_EXCLUDES(memory_.mu);
  Status HoldStream(StreamWork* work, StreamState* state, bool needs_arrival);
  Status EndWork(StreamWork* work);
  void CollectChunks(absl::Span<const WorkRange> ranges, StreamWork* work) VS_REQUIRES(memory_.mu);
  // It may run: what only the mover notes of that.
  void GoesOn(StreamWork* work) VS_REQUIRES(memory_.mu);
  Status MakeShareable(ChunkIndex index) VS_REQUIRES(sharing_);
  // Closes the gate when nothing that was submitted may use the chunks, and claims them (see
  // Memory::Claim) if wanted; `why` for the error.
  Status CloseUnused(absl::Span<const ChunkIndex> chunks, bool claim, const char* why)
      VS_REQUIRES(sharing_) VS_EXCLUDES(memory_.mu);
  void PinHere(ChunkIndex index) VS_REQUIRES(memory_.mu);  // It is on the device.
  // --- what is unmapped (mover_unmap.cc) ---
  // Work that has not ended names one of the chunks itself.
  bool Named(absl::Span<const ChunkIndex> chunks) VS_REQUIRES(memory_.mu);
  // Fingerprints of the chunks that have not begun are not taken. Whether any may be under way.
  bool CallOffFingerprints(absl::Span<const ChunkIndex> chunks) VS_REQUIRES(memory_.mu);
  StatusOr<std::vector<Memory::Detached>> UnmapTaken(absl::Span<const Memory::Taken> taken,
                                                     DevicePtr p, Bytes size)
      VS_REQUIRES_SHARED(memory_.mapping_mu) VS_EXCLUDES(memory_.mu);
  Status CopyTo(const Slot& made, DevicePtr from, Bytes size);
  // --- who has written what (mover_fingerprints.cc) ---
  // Puts fingerprints of what the work may write behind it, where they may save a copy.
  void QueueFingerprints(StreamWork* work) VS_EXCLUDES(memory_.mu);
  // It is released: which of them are taken.
  void AskFingerprints(const StreamWork& work) VS_REQUIRES(memory_.mu);
  // It would tell something, as far as is known.
  bool WorthAFingerprintNow(const Chunk& c) VS_REQUIRES(memory_.mu);
  // Work that is right behind it in the queue has one of the chunk.
  bool FingerprintedSoon(const StreamWork& work, ChunkIndex index) VS_REQUIRES(memory_.mu);
  // They could not be put behind it.
  void DropFingerprints(StreamWork* work) VS_REQUIRES(memory_.mu);
  // It has finished.
  void TakeFingerprints(const StreamWork& work) VS_REQUIRES(memory_.mu);

  // Waits until one more may be held.
  void WaitForRoom(bool kernels_only) VS_REQUIRES(memory_.mu);
  // So many are no longer held.
  void MakeRoom(size_t works) VS_REQUIRES(memory_.mu);
  // See WorkPool::CountIn.
  bool CountIn(StreamWork* work) VS_REQUIRES(memory_.mu);
  void Cancel(StreamWork* work);
  // Waits while `unmapped` holds, however long the driver takes; false where it refuses to map.
  bool WaitMapped(absl::FunctionRef<bool()> unmapped) VS_REQUIRES(memory_.mu);
  // Waits while an address that the work may hand to the driver is being remapped.
  Status WaitReachable(const StreamWork& work) VS_REQUIRES(memory_.mu);
  void WakeThread() VS_REQUIRES(memory_.mu);
  Status AwaitTracking();
  // REQUIRES: all work from before tracking is done.
  void DrainStreams() VS_EXCLUDES(memory_.mu);
  // What the state's stream carried is done when it reaches the mark.
  void DrainsAt(StreamState* state, uint32_t mark) VS_REQUIRES(memory_.mu);
  // REQUIRES: the thread is inside the gate.
  Status ForgetInside(CUstream stream) VS_EXCLUDES(memory_.mu);
  // The mark behind all that a stream carried which ends, or whose thread does. None where all of
  // that is done: a driver may not survive a thread that ends with work in its own stream.
  StatusOr<std::optional<uint32_t>> MarkLast(StreamState* state) VS_EXCLUDES(memory_.mu);
  // The calling thread ends, and its default stream with it.
  void EndThread();
  // Of all movers, each once.
  static uint64_t NextStreamCaches();
  // Marks the streams that carried work before tracking, so that it is known when that is done.
  // REQUIRES: the gate is closed, and no stream is destroyed without passing it.
  void MarkUnrecorded() VS_EXCLUDES(memory_.mu);
  void UpdateTracking() VS_REQUIRES(memory_.mu);
  void StopTracking() VS_REQUIRES(memory_.mu);  // For good.

  // --- the thread (mover.cc) ---
  void Loop();
  // One look at everything, or a pause. True: the thread is to end.
  bool Turn(std::optional<ScopedContext>* current);
  // After an exception nothing is begun any more, which might end in another; what is held goes on
  // with its memory where it is, as after StopMoving.
  void Rest(const char* why);
  // Puts the time since the last look on the account of what the head waits for.
  void AccountStall() VS_EXCLUDES(memory_.mu);
  bool Round();
  // Has the scheduler decide, and does that. Whether it was anything.
  bool Act();
  // Releases what it wants released; the rest is returned. `any` is set where there was any.
  Action Decide(bool* any) VS_REQUIRES(memory_.mu);
  void Pause();
  bool TryStartTracking();
  // Begins foreign work for what other contexts have submitted (mover_map.cc), and tells
  // which they are. REQUIRES: the gate is closed, so that all they submit later is seen.
  std::vector<CUcontext> BeginOthers() VS_EXCLUDES(memory_.mu);
  // The foreign work ends when theirs has. Where nobody can wait for that, nothing ever moves.
  void WaitForOthers(std::vector<CUcontext> others);
  // What moves need: made before they are needed, while the device fills up.
  bool Prepare();
  // Makes the stream that tells whether the context lives. False, with an error on record: none.
  bool WatchContext() VS_EXCLUDES(memory_.mu);
  // Whether work is to be recorded from here on. What is traced names its memory from the first
  // move on; what is declared must have been named before.
  bool MustRecord() const {
    return options_.traced ? memory_.short_of_device() : memory_.filling();
  }
  // Before there is a thread that could wait for it: in a context in which a stream waits for the
  // host, loading a kernel may wait for that stream, and keeps all others from the driver
  // meanwhile.
  void LoadFingerprints();
  // Device memory that nobody but the pool has; what is left of it tells what a context took.
  std::optional<Bytes> FreeAndHeld();
  bool PollFinished() VS_REQUIRES(memory_.mu);
  bool PollArrivals() VS_REQUIRES(memory_.mu);
  void Finish(StreamWork* work) VS_REQUIRES(memory_.mu);
  void Release(StreamWork* work) VS_REQUIRES(memory_.mu);
  // Waits on done_, or on `told`, until `condition` holds, and looks now and then whether the
  // context still lives: in a dead one no mark is reached any more.
  void WaitUntil(absl::FunctionRef<bool()> condition) VS_REQUIRES(memory_.mu) {
    WaitUntil(done_, condition);
  }
  void WaitUntil(CondVar& told, absl::FunctionRef<bool()> condition) VS_REQUIRES(memory_.mu);
  bool Idle() VS_REQUIRES(memory_.mu);

  Bytes OverBudget();

  Memory& memory_;
  const std::shared_ptr<const Driver> driver_;
  const MoverOptions options_;
  std::atomic<uint64_t>
      stream_caches_;  // Changes when what threads remember of their streams is stale.
  const std::shared_ptr<EndedThreads> ended_threads_;
  Gate gate_;
  Mutex sharing_;                      // One sharer at a time; taken before everything else.
  std::atomic<bool> tracking_{false};  // Work is recorded. Changes under the closed gate only.
  std::atomic<bool> want_tracking_{false};
  std::atomic<bool> want_ready_{false};  // Prepare, and no more yet.
  std::atomic<bool> ready_{false};       // That was done.
  std::atomic<Bytes> overhead_{};
  std::atomic<bool> synchronous_{false};  // No context of our own: launching threads wait instead.

  // None where fingerprints cannot be taken in the program's streams. Made for good.
  std::unique_ptr<StreamFingerprints> fingerprints_;

  Streams streams_ VS_GUARDED_BY(memory_.mu);
  Scheduler scheduler_ VS_GUARDED_BY(memory_.mu);
  WorkPool works_ VS_GUARDED_BY(memory_.mu);
  MoverAccounts accounts_ VS_GUARDED_BY(memory_.mu);
  uint32_t draining_ VS_GUARDED_BY(memory_.mu) = 0;  // Forgotten streams that have yet to settle.
  uint32_t works_in_submission_ VS_GUARDED_BY(memory_.mu) = 0;  // Begun, not finished.
  bool stop_ VS_GUARDED_BY(memory_.mu) = false;
  bool resting_ VS_GUARDED_BY(memory_.mu) = false;  // See Rest.
  bool dead_ VS_GUARDED_BY(memory_.mu) = false;     // A kernel has killed the context.
  // Of the program's context, never used: to ask whether that lives.
  CUstream health_ VS_GUARDED_BY(memory_.mu) = nullptr;
  bool look_again_ VS_GUARDED_BY(memory_.mu) = false;
  bool sleeping_ VS_GUARDED_BY(memory_.mu) = false;
  CondVar wake_;  // For the thread.
  CondVar done_;  // For those who wait for work or moves.
  CondVar room_;  // For those who wait to be taken in: each is told by itself.
  uint32_t waiting_for_room_ VS_GUARDED_BY(memory_.mu) = 0;
  Clock::time_point health_looked_ VS_GUARDED_BY(memory_.mu);  // Somebody, at the context.

  // The mover's thread only.
  MoveMaker maker_;
  Clock::time_point last_progress_;
  Clock::time_point
      stall_since_;           // The last look at what the head waits for; none: there was none.
  uint64_t stall_vmm_ = 0;    // Time in VMM calls by then.
  bool stall_moves_ = false;  // Whether anything moved then.
  Stalls stalls_ VS_GUARDED_BY(memory_.mu);
  Thread thread_;
  Thread others_;  // Waits for what other contexts had submitted.
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_MOVER_MOVER_H_
