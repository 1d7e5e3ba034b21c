// Taking work in: what the program's threads do. The fast path, while memory suffices, is a pass
// through the gate and a look at what the thread remembers of the stream.
#include <absl/algorithm/container.h>
#include <absl/strings/str_cat.h>

#include <algorithm>
#include <utility>

#include "runtime/base/thread_local.h"
#include "runtime/base/thread_number.h"
#include "runtime/base/uncancellable.h"
#include "runtime/mover/mover.h"
#include "runtime/mover/mover_ended_threads.h"
#include "runtime/placement/move_limits.h"

namespace vramspan {
namespace {

// The scope that the thread has open, in whichever runtime.
struct Scope {
  Mover* mover = nullptr;
  CUstream stream = nullptr;
  StreamWork* work = nullptr;  // None: not recorded (memory suffices, or the stream captures).
};
VS_HOT_THREAD_LOCAL Scope scope;

// Streams that this thread has told a mover of, so that it need not ask again.
struct Noted {
  uint64_t notes = 0;
  CUstream stream = nullptr;
  StreamState* state = nullptr;
};
VS_HOT_THREAD_LOCAL Noted noted[4];
VS_HOT_THREAD_LOCAL unsigned next_noted = 0;

// Arming takes a tenth of a second, most of it for a context, unless some thread stays inside the
// driver: then work that follows goes unseen for a while.
constexpr std::chrono::seconds kTrackingPatience{1};

// Beyond this many finished works nobody has looked at, the mover is asked to look.
constexpr size_t kUnpolled = 64;

}  // namespace

bool Mover::InScope() { return scope.mover != nullptr; }

Status Mover::Begin(CUstream stream, absl::Span<const WorkRange> ranges, Access access,
                    uint64_t kernel, uint64_t tag) {
  if (scope.mover != nullptr) {
    return absl::FailedPreconditionError(
        "this thread has a work scope open already: scopes do not nest, end it first");
  }
  gate_.Enter();
  StreamWork* work = nullptr;
  Status status;
  if (!tracking_.load(std::memory_order_acquire)) [[likely]] {
    status = BeginFast(stream);
  } else {
    StatusOr<StreamWork*> begun = BeginTracked(stream, ranges, access, kernel, tag);
    status = begun.status();
    if (begun.ok()) work = *begun;
  }
  if (!status.ok()) {
    gate_.Exit();
    return status;
  }
  scope = {this, stream, work};
  return absl::OkStatus();
}

Status Mover::BeginFast(CUstream stream) {
  const uint64_t notes = stream_caches_.load(std::memory_order_acquire);
  for (const Noted& n : noted) {
    if (n.notes == notes && n.stream == stream) [[likely]]
      return absl::OkStatus();
  }
  VS_ASSIGN_OR_RETURN(StreamState * state, StateOf(stream));
  MutexLock lock(memory_.mu);
  streams_.SetUnrecorded(state, true);
  return absl::OkStatus();
}

StatusOr<StreamState*> Mover::StateOf(CUstream stream) {
  const uint64_t notes = stream_caches_.load(std::memory_order_acquire);
  for (const Noted& n : noted) {
    if (n.notes == notes && n.stream == stream) return n.state;
  }
  const Uncancellable now;
  StreamState* state;
  {
    MutexLock lock(memory_.mu);
    state = streams_.Get(stream);
  }
  if (state == nullptr) {
    ScopedContext current(*driver_, memory_.options().context);
    VS_RETURN_IF_ERROR(current.status());
    VS_ASSIGN_OR_RETURN(const FlagPage page, Streams::MakePage(*driver_));
    MutexLock lock(memory_.mu);
    streams_.Add(page);
    state = streams_.Get(stream);
  }
  if (stream == CU_STREAM_PER_THREAD) ThreadEnd::Tell(ended_threads_);
  noted[next_noted++ % std::size(noted)] = {notes, stream, state};
  return state;
}

StatusOr<StreamWork*> Mover::BeginTracked(CUstream stream, absl::Span<const WorkRange> ranges,
                                          Access access, uint64_t kernel, uint64_t tag) {
  const Uncancellable now;
  CUcontext current = nullptr;
  VS_RETURN_IF_ERROR(Check((*driver_)->CtxGetCurrent(&current), "cuCtxGetCurrent"));
  if (current != memory_.options().context) {
    return absl::FailedPreconditionError(
        "work was declared in another context than the runtime's: make the context current in "
        "which the runtime was created");
  }
  CUstreamCaptureStatus capture = CU_STREAM_CAPTURE_STATUS_NONE;
  const CUresult result = (*driver_)->StreamIsCapturing(stream, &capture);
  // The legacy stream beside a capturing one: what is submitted there fails by itself.
  if (result == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT) return nullptr;
  VS_RETURN_IF_ERROR(Check(result, "cuStreamIsCapturing"));
  if (capture != CU_STREAM_CAPTURE_STATUS_NONE) {
    if (absl::c_all_of(ranges, [](const auto& r) { return r.use.kernels_only; })) return nullptr;
    return BeginCaptured(ranges, access);
  }

  StreamWork* work;
  {
    MutexLock lock(memory_.mu);
    work = works_.New();
    work->access = access;
    work->kernel = kernel;
    work->tag = tag;
  }
  VS_RETURN_IF_ERROR(Submit(work, stream, ranges));
  return work;
}

// The driver looks captured copies up as it does others, though nothing of them runs.
StatusOr<StreamWork*> Mover::BeginCaptured(absl::Span<const WorkRange> ranges, Access access) {
  MutexLock lock(memory_.mu);
  StreamWork* work = works_.New();
  work->kind = Work::Kind::kCaptured;
  const bool counted = CountIn(work);
  work->access = counted ? access : Access::kUnknown;
  if (counted) CollectChunks(ranges, work);
  const Status reachable = WaitReachable(*work);
  if (!reachable.ok()) {
    works_.Recycle(work);
    return reachable;
  }
  scheduler_.work().SetInSubmission(work, true);
  return work;
}

Status Mover::Submit(StreamWork* work, CUstream stream, absl::Span<const WorkRange> ranges) {
  StreamState* state = nullptr;
  bool needs_arrival = false;
  {
    StatusOr<StreamState*> found = StateOf(stream);
    if (!found.ok()) {
      MutexLock lock(memory_.mu);
      works_.Recycle(work);
      return found.status();
    }
    state = *found;
  }
  {
    MutexLock lock(memory_.mu);
    const bool kernels = work->access != Access::kUnknown &&
                         absl::c_all_of(ranges, [](const auto& r) { return r.use.kernels_only; });
    if (!synchronous_.load(std::memory_order_relaxed)) {
      WaitForRoom(kernels);
    }
    work->stream = state;
    work->stream_key = state;
    work->thread = ThreadNumber::Mine();
    work->submitted_at = Now();
    if (CountIn(work)) {
      CollectChunks(ranges, work);
    } else if (work->kind == Work::Kind::kScope) {
      work->access = Access::kUnknown;
      work->kernel = 0;
    }
    const Status reachable = WaitReachable(*work);
    if (!reachable.ok()) {
      works_.Recycle(work);
      return reachable;
    }
    ++works_in_submission_;
    ++accounts_.stats.works;
    if (work->barrier()) memory_.unknown_work.fetch_add(1, std::memory_order_relaxed);
    // Having come this far also says that what the stream carried before tracking is done.
    work->needs_arrival = state->unrecorded;
    if (scheduler_.work().Submit(work, At())) {
      GoesOn(work);
      if (state->in_flight.size() > kUnpolled) WakeThread();
      return absl::OkStatus();
    }
    ++accounts_.stats.works_held;
    needs_arrival = work->needs_arrival;
    work->hold = ++state->holds;
    state->held.push_back(work);
    if (synchronous_.load(std::memory_order_relaxed)) {
      // The host is what holds the launch here, so the stream has arrived when it is idle enough:
      // nothing tells, and the chunks stay until work that declared them has finished.
      work->needs_arrival = false;
      WakeThread();
      WaitUntil([work] { return work->released; });
      return absl::OkStatus();
    }
    scheduler_.work().SetInSubmission(work, true);
    if (!needs_arrival) WakeThread();
  }
  const Status status = HoldStream(work, state, needs_arrival);
  if (!status.ok()) Cancel(work);
  return status;
}

Status Mover::HoldStream(StreamWork* work, StreamState* state, bool needs_arrival) {
  if (needs_arrival) {
    VS_ASSIGN_OR_RETURN(const uint32_t mark, Streams::Mark(*driver_, state));
    MutexLock lock(memory_.mu);
    work->arrival = mark;
    WakeThread();
  }
  return Check((*driver_)->StreamWaitValue32(state->stream, state->hold_address, work->hold,
                                             CU_STREAM_WAIT_VALUE_GEQ),
               "cuStreamWaitValue32", "to hold a launch");
}

Status Mover::End(CUstream stream) {
  if (scope.mover != this) {
    return absl::FailedPreconditionError(
        scope.mover == nullptr ? "no work scope is open on this thread"
                               : "the work scope open on this thread is another runtime's");
  }
  const Scope mine = scope;
  scope = {};
  Status status;
  if (mine.work != nullptr) status = EndWork(mine.work);
  gate_.Exit();
  // Nothing will say that the thread has ended, so the stream ends with each of its calls.
  if (mine.stream == CU_STREAM_PER_THREAD && ThreadEnd::Told()) [[unlikely]] {
    driver_->RecordBackgroundError(Forget(mine.stream));
  }
  if (status.ok() && stream != mine.stream) {
    return absl::InvalidArgumentError(
        "the work scope was opened on another stream than it is ended on; it was ended on its own");
  }
  return status;
}

Status Mover::EndWork(StreamWork* work) {
  const Uncancellable now;
  if (work->kind == Work::Kind::kCaptured) {
    MutexLock lock(memory_.mu);
    scheduler_.work().SetInSubmission(work, false);
    works_.Recycle(work);
    WakeThread();
    return absl::OkStatus();
  }
  QueueFingerprints(work);
  const StatusOr<uint32_t> mark = Streams::Mark(*driver_, work->stream);
  // Nothing will tell when the work is done, so wait for it here. That this fails as well means a
  // dead context, in which nothing runs any more.
  if (!mark.ok()) {
    driver_->RecordBackgroundError(Check((*driver_)->StreamSynchronize(work->stream->stream),
                                         "cuStreamSynchronize", "for work without a mark"));
  }
  MutexLock lock(memory_.mu);
  scheduler_.work().SetInSubmission(work, false);
  if (mark.ok()) work->end = *mark;
  work->submitted = true;
  if (!mark.ok()) WakeThread();
  return mark.status();
}

Status Mover::Forget(CUstream stream) {
  // Until the mover no longer knows the stream, it must not be looking at it: the program destroys
  // it next, and the driver crashes on such a handle.
  gate_.Enter();
  const Status status = ForgetInside(stream);
  gate_.Exit();
  return status;
}

Status Mover::ForgetInside(CUstream stream) {
  StreamState* state;
  bool unrecorded;
  {
    MutexLock lock(memory_.mu);
    state = streams_.Find(stream);
    if (state == nullptr) return absl::OkStatus();
    unrecorded = state->unrecorded;
  }
  StatusOr<std::optional<uint32_t>> mark = std::nullopt;
  if (unrecorded) {
    ScopedContext current(*driver_, memory_.options().context);
    if (current.status().ok()) {
      mark = MarkLast(state);
    } else {
      mark = current.status();
    }
  }
  MutexLock lock(memory_.mu);
  if (streams_.Find(stream) != state) return absl::OkStatus();  // Another thread was faster.
  if (stream == CU_STREAM_PER_THREAD) {
    // No other thread knows the state.
    for (Noted& n : noted) {
      if (n.state == state) n = {};
    }
  } else {
    stream_caches_.store(NextStreamCaches(), std::memory_order_release);
  }
  // Also where its end cannot be told: the next stream of that name is another all the same. It is
  // unsettled then until all work has been waited for.
  streams_.Forget(state);
  if (unrecorded && mark.ok()) {
    if (mark->has_value()) {
      DrainsAt(state, **mark);
    } else {
      streams_.SetUnrecorded(state, false);
    }
  }
  streams_.Sweep();
  UpdateTracking();
  WakeThread();
  return mark.status();
}

void Mover::AwaitRelease(CUstream stream) {
  if (!tracking_.load(std::memory_order_relaxed)) return;
  const Uncancellable now;
  MutexLock lock(memory_.mu);
  StreamState* const state = streams_.Find(stream);
  if (state == nullptr || state->held.empty()) return;
  const uint64_t last = state->held.back()->id;
  ++state->awaiting;
  WaitUntil(state->let_go, [&]() VS_NO_THREAD_SAFETY_ANALYSIS {
    return state->held.empty() || state->held.front()->id > last;
  });
  --state->awaiting;
}

Status Mover::AwaitTracking() {
  if (tracking_.load(std::memory_order_acquire)) return absl::OkStatus();
  if (scope.mover == this) {
    return absl::FailedPreconditionError(
        "memory cannot be moved on request from inside a work scope: end the scope first");
  }
  want_tracking_.store(true, std::memory_order_release);
  MutexLock lock(memory_.mu);
  WakeThread();
  const auto until = Clock::now() + std::chrono::seconds(10);
  while (!tracking_.load(std::memory_order_acquire)) {
    if (!want_tracking_.load(std::memory_order_acquire)) {
      return accounts_.error.ok() ? absl::InternalError("the mover could not start")
                                  : accounts_.error;
    }
    if (Clock::now() > until) {
      return absl::DeadlineExceededError(
          "a thread has been submitting work for 10 s without returning from the driver, so moves "
          "cannot start; try again when it has returned");
    }
    done_.WaitFor(memory_.mu, std::chrono::milliseconds(10));
  }
  return absl::OkStatus();
}

void Mover::CollectChunks(absl::Span<const WorkRange> ranges, StreamWork* work) {
  works_.Collect(ranges, work);
  if (options_.traced && work->kind == Work::Kind::kScope) {
    work->signature = Sequence::Signature(*work);
  }
  scheduler_.trials().Want(work);
}

void Mover::GoesOn(StreamWork* work) {
  if (work->kernel != 0) accounts_.stats.bytes_in_place += work->sample.remote;
  if (work->tag != 0 && options_.listener != nullptr) {
    options_.listener->Released(work->tag, work->remote);
  }
  if (work->stream == nullptr) return;
  work->stream->in_flight.push_back(work);
  streams_.Busy(work->stream);
}

void Mover::Cancel(StreamWork* work) {
  MutexLock lock(memory_.mu);
  if (work->barrier()) memory_.unknown_work.fetch_sub(1, std::memory_order_relaxed);
  const bool held = scheduler_.work().Cancelled(work);
  MakeRoom(std::min<size_t>(held, waiting_for_room_));
  std::erase(work->stream->held, work);
  if (work->stream->awaiting != 0) work->stream->let_go.NotifyAll();
  std::erase(work->stream->in_flight, work);
  --works_in_submission_;
  works_.Recycle(work);
  WakeThread();
}

void Mover::WaitForRoom(bool kernels_only) {
  const auto full = [&](bool kernels)
                        VS_NO_THREAD_SAFETY_ANALYSIS { return scheduler_.work().Full(kernels); };
  if (full(kernels_only)) [[unlikely]] {
    ++waiting_for_room_;
    WaitUntil(room_, [&] { return !full(kernels_only); });
    --waiting_for_room_;
    // Work that is not held after all makes no room for the next.
    if (!full(false)) MakeRoom(1);
  }
}

void Mover::MakeRoom(size_t works) {
  for (; works != 0; --works) room_.NotifyOne();
}

bool Mover::CountIn(StreamWork* work) {
  // The mover may be inside the driver, and what has finished meanwhile goes unseen.
  if (works_.full() && PollFinished()) WakeThread();
  return works_.CountIn(work);
}

void Mover::TeachKernel(uint64_t kernel, double passes, uint64_t resident_ns) {
  MutexLock lock(memory_.mu);
  scheduler_.trials().history().Teach(kernel, passes, resident_ns);
}

void Mover::WakeThread() {
  look_again_ = true;
  if (sleeping_) wake_.NotifyOne();
}

void Mover::Wake() {
  if (!tracking_.load(std::memory_order_acquire)) {
    if (MustRecord()) {
      want_tracking_.store(true, std::memory_order_release);
    } else if (memory_.filling() && !ready_.load(std::memory_order_acquire)) {
      want_ready_.store(true, std::memory_order_release);
    }
  }
  MutexLock lock(memory_.mu);
  scheduler_.LookAgain();
  WakeThread();
}

void Mover::WakeAndStartTracking() {
  Wake();
  if (tracking_.load(std::memory_order_acquire) || scope.mover != nullptr) return;
  const auto until = Clock::now() + kTrackingPatience;
  MutexLock lock(memory_.mu);
  // For what is only made ready as well: what a context takes is not to be seen as the program's.
  while (!tracking_.load(std::memory_order_acquire) &&
         (want_tracking_.load(std::memory_order_acquire) ||
          want_ready_.load(std::memory_order_acquire)) &&
         Clock::now() < until) {
    done_.WaitFor(memory_.mu, std::chrono::milliseconds(5));
  }
}

Status Mover::Synchronize() {
  if (scope.mover == this) {
    return absl::FailedPreconditionError(
        "cannot wait for all work from inside a work scope: it would wait for itself");
  }
  const bool tracking = tracking_.load(std::memory_order_acquire);
  if (tracking) {
    MutexLock lock(memory_.mu);
    WakeThread();
    WaitUntil([this]() VS_NO_THREAD_SAFETY_ANALYSIS {
      if (!Idle()) return false;
      if (!memory_.any_unmapped() || dead_) return true;
      scheduler_.unmapped().MapAll();
      WakeThread();
      return false;
    });
  }
  if (memory_.tracking() != Tracking::kAll) {
    // Work that was declared before tracking: nothing but this tells that it is done.
    VS_RETURN_IF_ERROR(memory_.Drain());
    if (tracking) DrainStreams();
  }
  if (!options_.traced) {
    // What comes now and is not declared may write anywhere, but for what is said to be read only.
    MutexLock lock(memory_.mu);
    scheduler_.work().AnyMayBeWritten(/*but_read_mostly=*/true);
  }
  // Recording may have failed to start before.
  if (!tracking && memory_.filling()) WakeAndStartTracking();
  VS_RETURN_IF_ERROR(memory_.DrainAndReclaim());
  return TakeError();
}

Status Mover::TakeError() {
  MutexLock lock(memory_.mu);
  Status& error = accounts_.error;
  if (error.ok()) return driver_->TakeNoted();
  // A dead context stays dead, and everybody who asks is told.
  if (dead_) return error;
  return std::exchange(error, absl::OkStatus());
}

MoverStatistics Mover::statistics() {
  const auto nanoseconds = [](Duration d) { return static_cast<uint64_t>(d.count()); };
  MutexLock lock(memory_.mu);
  MoverStatistics s = accounts_.stats;
  const WorkFlow::Statistics& work = scheduler_.work().statistics();
  s.works_in_place = work.in_place;
  s.deadlines = work.deadlines;
  s.hold_ns = nanoseconds(work.held);
  const Moves::Counts& moves = scheduler_.moves().counts();
  s.fetches = moves.fetches;
  s.evictions = moves.evictions;
  s.fetches_unused = moves.fetches_unused;
  s.bytes_in = moves.in;
  s.bytes_out = moves.out;
  s.bytes_out_clean = moves.out_clean;
  s.returned = scheduler_.planning().returned();
  s.stall_vmm_ns = nanoseconds(stalls_.calls);
  s.stall_copy_ns = nanoseconds(stalls_.copies);
  s.stall_drain_ns = nanoseconds(stalls_.drain);
  s.trials = scheduler_.trials().made();
  s.forecast_hits = scheduler_.sequence().hits();
  s.forecast_misses = scheduler_.sequence().misses();
  return s;
}

}  // namespace vramspan
