// The mover: takes the program's work in, has the scheduler decide over it (runtime/scheduler), and
// on a thread of its own does what that wants: lets work go, copies, remaps. The parts are in files
// of their own; docs/life-of-a-launch.md follows one launch through them.
//
// The launching thread never waits (a stream wait holds the GPU side instead), and the mover never
// needs a thread that may be inside the driver: opening a hold is one store.
//
// Threads: all functions may be called from any thread. The memory lock guards the scheduler, the
// chunks and the records of work; it is never held over a driver call that may wait.
#ifndef VRAMSPAN_RUNTIME_MOVER_MOVER_H_
#define VRAMSPAN_RUNTIME_MOVER_MOVER_H_

#include <absl/functional/function_ref.h>
#include <absl/types/span.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <vector>

#include "runtime/base/thread.h"
#include "runtime/memory/memory.h"
#include "runtime/memory/run_listener.h"
#include "runtime/mover/context_watch.h"
#include "runtime/mover/foreign_work.h"
#include "runtime/mover/gate.h"
#include "runtime/mover/move_maker.h"
#include "runtime/mover/mover_accounts.h"
#include "runtime/mover/mover_thread.h"
#include "runtime/mover/placements.h"
#include "runtime/mover/program_streams.h"
#include "runtime/mover/program_work.h"
#include "runtime/mover/recording.h"
#include "runtime/mover/sharing.h"
#include "runtime/mover/showing.h"
#include "runtime/mover/signals.h"
#include "runtime/mover/unmapping.h"
#include "runtime/mover/work_fingerprints.h"
#include "runtime/mover/work_scopes.h"
#include "runtime/scheduler/scheduler.h"

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
  // Is told of all that the scheduler is told, and outlives the mover; null: nobody is. What
  // decides then is not the memory's policy, which tells, but the one behind that (ToldPolicy).
  EventSink* sink = nullptr;
  EvictionPolicy* policy = nullptr;
  // The contexts but this one whose work has passed by (BeginUntracked). Null: nobody's does.
  std::vector<CUcontext> (*others)(CUcontext own) = nullptr;
  ContextRoom* room = nullptr;  // For the context of its own. Outlives the mover.
  Showing* showing = nullptr;   // The same. Null: nobody looks on.
  // Traced work is recorded until all memory has been on the device for so long. None: for good.
  std::optional<Duration> rest_after = RecordingEnd::kLeast;
};

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
  // `tag`: what the listener knows the work by. `kept`: what was kept of the same ranges, or is to
  // be; good while nothing that they lie in is freed.
  Status Begin(CUstream stream, absl::Span<const WorkRange> ranges, Access access = Access::kExact,
               uint64_t kernel = 0, uint64_t tag = 0, KeptUses* kept = nullptr) {
    return scopes_.Begin(stream, ranges, access, kernel, tag, kept);
  }
  Status End(CUstream stream) { return scopes_.End(stream); }
  // The stream is destroyed next, or its thread ends.
  Status Forget(CUstream stream) { return streams_.Forget(stream); }
  // Returns when all work that the stream holds now has been let go. For a thread that is about to
  // wait for the stream: in the driver it would spin, and with many such threads those that move
  // memory get no processor (an H100 with 16 cores: 1,000 threads 12 s, with this mover's threads
  // at another priority 0.4 s).
  void AwaitRelease(CUstream stream) { scopes_.AwaitRelease(stream); }
  // Under the lock: to tell what is known of kernels before they were seen here (Scheduler::Teach
  // and Know), or to look at what was seen of them (Trials::history). It calls nothing else here.
  // False: the lock was not to be had for so long. None: it is waited for.
  bool OfKernels(absl::FunctionRef<void(Scheduler&)> call,
                 std::optional<std::chrono::milliseconds> patience = std::nullopt);
  // The calling thread is between Begin and End, of whichever mover.
  static bool InScope() { return WorkScopes::InScope(); }
  // Work is recorded: ranges count from here on.
  bool tracking() const { return recording_.begun(); }
  // Device memory that the context of the mover's own takes, once there is one.
  Bytes overhead() const { return recording_.overhead(); }

  // What the program does not want any more (placements.h).
  Placements& placements() { return placements_; }
  // Moves by request.
  Status Prefetch(DevicePtr ptr, Bytes size, bool to_device, CUstream stream) {
    return placements_.Prefetch(ptr, size, to_device, stream);
  }
  Status Pin(DevicePtr ptr, Bytes size) { return placements_.Pin(ptr, size); }
  Status Unpin(DevicePtr ptr, Bytes size) { return placements_.Unpin(ptr, size); }
  Status Hold(DevicePtr ptr, Bytes size) { return placements_.Hold(ptr, size); }

  // Unmaps [p, p + size), in which these are the mappings of chunks: all or, on an error, none.
  // Waits until what names their memory has ended, at most a second, and until no move of it is
  // under way; other work is not waited for. What they had, in their order.
  StatusOr<std::vector<DetachedMemory>> Unmap(absl::Span<const DevicePtr> mappings, DevicePtr p,
                                              Bytes size) {
    return unmapping_.Unmap(mappings, p, size);
  }
  // Puts `by` behind the mappings of one piece of memory, in its place: waits until no work may use
  // it, then `copy` is called while nobody submits any, and `open` for each mapping that shows
  // `by`, to let others touch it. What they had. An error changes nothing.
  StatusOr<DetachedMemory> Replace(absl::Span<const DevicePtr> mappings, Bytes size,
                                   CUmemGenericAllocationHandle by,
                                   absl::FunctionRef<Status(const DetachedMemory&)> copy,
                                   absl::FunctionRef<Status(DevicePtr)> open);

  // Pins the range, puts memory of the same contents behind it that other processes can be given,
  // and says what that is; the handles are good until the range is freed. Waits for the context's
  // work, and for moments in which none that is recorded uses a chunk. Memory for one chunk more is
  // needed meanwhile, beyond the budget. ResourceExhausted: no room to pin; Unavailable: none for
  // that chunk; DeadlineExceeded: work never let go of one. On an error chunks may have become
  // shareable already, but none stays pinned for it.
  StatusOr<SharedMemory> Share(DevicePtr ptr, Bytes size) { return sharing_.Share(ptr, size); }

  // The budget was lowered or memory was allocated on the host: look again.
  void Wake();
  // Wake, and where memory has become short wait until work is recorded (at most a second or so):
  // so that the work that follows is seen. Does not wait inside a scope.
  void WakeAndStartTracking();
  // Around a call that looks memory up in the driver and is not submitted work: all that is
  // unmapped is mapped again, and nothing is remapped before EndAddressQuery, nor left unmapped for
  // a while. One load while memory suffices; false then, and there is nothing to end.
  bool BeginAddressQuery();
  void EndAddressQuery() { foreign_.EndQuery(); }
  // Around work in another context that touches memory here, and may write it: nothing moves. Waits
  // for what does. False while memory suffices, and there is nothing to end.
  // REQUIRES of EndForeignWork: the work is done.
  bool BeginForeignWork();
  void EndForeignWork() { foreign_.End(); }
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
  // REQUIRES: no work is held (HoldWork), and none will be.
  bool AwaitScopes(std::chrono::milliseconds patience) {
    return scopes_.AwaitTurns(patience) && gate_.AwaitEmpty(patience);
  }
  // New work waits in the threads that submit it, until then at the latest, or no longer; what
  // captures runs nothing and does not wait. While memory suffices nothing waits.
  void HoldWork(std::optional<std::chrono::steady_clock::time_point> until);
  WorkState work_state();
  // Around a thread's wait for the device.
  void ThreadWaits() { threads_waiting_.fetch_add(1, std::memory_order_relaxed); }
  void ThreadGoesOn() { threads_waiting_.fetch_sub(1, std::memory_order_relaxed); }
  // Waits until no declared work is queued or in flight and no move is wanted or under way.
  Status Synchronize();
  // Returns and forgets the first failure of a background move.
  Status TakeError();
  MoverStatistics statistics();

 private:
  Mover(Memory* memory, const MoverOptions& options) VS_NO_THREAD_SAFETY_ANALYSIS;

  // --- the scheduler's owner; under the lock ---
  void DropHostCopy(ChunkIndex chunk) override VS_NO_THREAD_SAFETY_ANALYSIS {
    memory_.DropHostCopy(chunk);
  }
  void ForEachRunning(absl::FunctionRef<void(const Work&)> visit) override;

  bool Idle() VS_REQUIRES(memory_.mu);

  Memory& memory_;
  const bool traced_;
  std::atomic<uint32_t> threads_waiting_{0};
  uint64_t passed_ VS_GUARDED_BY(memory_.mu) = 0;  // The gate, at the last look.
  Gate gate_;
  Signals signals_ VS_GUARDED_BY(memory_.mu);
  MoverAccounts accounts_ VS_GUARDED_BY(memory_.mu);
  Scheduler scheduler_ VS_GUARDED_BY(memory_.mu);
  ContextWatch watch_;
  ProgramStreams streams_;
  WorkFingerprints prints_;
  ProgramWork work_ VS_GUARDED_BY(memory_.mu);
  MoveMaker maker_;  // The thread's.
  ForeignWork foreign_;
  Recording recording_;
  WorkScopes scopes_;
  Placements placements_;
  Unmapping unmapping_;
  Sharing sharing_;
  MoverThread thread_;
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_MOVER_MOVER_H_
