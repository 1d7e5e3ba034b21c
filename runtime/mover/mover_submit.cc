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
    work = NewWork();
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
  StreamWork* work = NewWork();
  work->kind = Work::Kind::kCaptured;
  const bool counted = CountIn(work);
  work->access = counted ? access : Access::kUnknown;
  if (counted) CollectChunks(ranges, work);
  const Status reachable = WaitReachable(*work);
  if (!reachable.ok()) {
    Recycle(work);
    return reachable;
  }
  SetInSubmission(work, true);
  return work;
}

Status Mover::Submit(StreamWork* work, CUstream stream, absl::Span<const WorkRange> ranges) {
  StreamState* state = nullptr;
  bool needs_arrival = false;
  {
    StatusOr<StreamState*> found = StateOf(stream);
    if (!found.ok()) {
      MutexLock lock(memory_.mu);
      Recycle(work);
      return found.status();
    }
    state = *found;
  }
  {
    MutexLock lock(memory_.mu);
    const bool kernels = work->access != Access::kUnknown &&
                         absl::c_all_of(ranges, [](const auto& r) { return r.use.kernels_only; });
    if (!synchronous_.load(std::memory_order_relaxed)) {
      WaitForRoom(kernels ? kMostHeldKernels : kMostHeld);
    }
    work->stream = state;
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
      Recycle(work);
      return reachable;
    }
    ++works_in_submission_;
    ++stats_.works;
    if (work->barrier()) {
      memory_.unknown_work.fetch_add(1, std::memory_order_relaxed);
      unmapped_.KeepMapped(work->submitted_at);
    }
    if (work->kind == Work::Kind::kScope && queue_.empty() &&
        readiness_.RunsAsItIs(*work, ConditionsNow())) {
      plan_maker_.Submitted(work);
      MarkReleased(work);
      if (state->in_flight.size() > kUnpolled) WakeThread();
      return absl::OkStatus();
    }
    ++stats_.works_held;
    work->held = true;
    work->hold = ++state->holds;
    work->ForEachFixed([&](const ChunkUse& use) VS_NO_THREAD_SAFETY_ANALYSIS {
      Chunk& c = memory_.chunks()[use.chunk];
      needs_arrival = needs_arrival || (!c.movable && c.allocation != 0);
    });
    counts_.Held(*work);
    // Having come this far also says that what the stream carried before tracking is done.
    needs_arrival = needs_arrival || state->unrecorded;
    work->needs_arrival = needs_arrival;
    queue_.Push(work);
    plan_maker_.Submitted(work);
    state->held.push_back(work);
    if (synchronous_.load(std::memory_order_relaxed)) {
      // The host is what holds the launch here, so the stream has arrived when it is idle enough:
      // nothing tells, and the chunks stay until work that declared them has finished.
      work->needs_arrival = false;
      WakeThread();
      WaitUntil([work] { return work->released; });
      return absl::OkStatus();
    }
    SetInSubmission(work, true);
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
    SetInSubmission(work, false);
    Recycle(work);
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
  SetInSubmission(work, false);
  if (mark.ok()) work->end = *mark;
  work->ended = true;
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
      return error_.ok() ? absl::InternalError("the mover could not start") : error_;
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
  // marks_[chunk] - mark_base_ is the chunk's position in this work; below the base: not yet in it.
  if (mark_base_ > 0xf0000000u) {
    std::fill(marks_.begin(), marks_.end(), 0);
    mark_base_ = 1;
  }
  std::vector<uint32_t>& marks = marks_;
  const uint32_t base = mark_base_;
  for (const WorkRange& range : ranges) {
    // The analysis does not see the lock from inside a lambda.
    const auto add = [&](ChunkIndex index, Chunk& c) VS_NO_THREAD_SAFETY_ANALYSIS {
      Use use = range.use;
      const bool begins = range.ptr >= c.base && range.ptr < c.base + c.size();
      use.guessed = use.guessed && (use.possible || !begins);
      if (index.value >= marks.size()) marks.resize(index.value * 2 + 64, 0);
      uint32_t& mark = marks[index.value];
      if (mark < base) {
        mark = base + static_cast<uint32_t>(work->all.size());
        work->all.push_back({index, use});
      } else {
        work->all[mark - base].how.Add(use);
      }
    };
    memory_.ForEachChunk(range.ptr, range.size, add);
  }
  mark_base_ += static_cast<uint32_t>(work->all.size());
  Sort(work);
  if (options_.traced && work->kind == Work::Kind::kScope)
    work->signature = Sequence::Signature(*work);
  trials_.Want(work);
  if (work->kernel != 0) trials_.PriceNew(work, memory_.device_pool().available());
}

void Mover::Sort(StreamWork* work) {
  std::vector<ChunkUse>& all = work->all;
  // Those that are `first` come first, from `begin` on, in the order that they have. How many.
  const auto to_front = [&](size_t begin, auto first) {
    size_t end = begin;
    for (size_t i = begin; i < all.size(); ++i) {
      if (first(all[i].how)) std::swap(all[i], all[end++]);
    }
    return end - begin;
  };
  const size_t likely = to_front(0, [](const Use& use) { return !use.possible; });
  const size_t possible = to_front(likely, [](const Use& use) { return !use.mapped_only; });
  const absl::Span<const ChunkUse> uses = all;
  work->uses = uses.first(likely);
  work->possible = uses.subspan(likely, possible);
  work->mapped_only = uses.subspan(likely + possible);
  if (absl::c_any_of(work->uses, [](const ChunkUse& use) { return use.how.once; })) {
    work->ServeOnce();
  }
}

void Mover::MarkReleased(StreamWork* work) {
  work->released = true;
  work->held = false;
  held_fingerprints_ -= std::exchange(work->held_fingerprints, 0);
  bool in_place = false;
  Bytes remote;
  counts_.Released(*work, &memory_.policy());
  if (work->kind != Work::Kind::kEvict) {
    work->ForEachFixed([&](const ChunkUse& use) VS_NO_THREAD_SAFETY_ANALYSIS {
      const Chunk& c = memory_.chunks()[use.chunk];
      // In a dead context nothing runs any more that could miss it.
      VS_DCHECK(!c.unmapped || work->kind != Work::Kind::kScope || dead_);
      if (!c.on_device && !use.how.possible) {
        in_place = true;
        remote += c.size();
      }
      if (use.how.write) NoteWriter(*work, use.chunk);
    });
  }
  AskFingerprints(*work);
  if (in_place && work->kind == Work::Kind::kScope) ++stats_.works_in_place;
  work->released_at = Now();
  if (work->kernel != 0) {
    trials_.Released(work);
    stats_.bytes_in_place += work->sample.remote;
  }
  if (work->tag != 0 && options_.listener != nullptr) {
    options_.listener->Released(work->tag, remote);
  }
  if (work->barrier()) DoubtTwins(/*but_read_mostly=*/false);  // It may write anywhere.
  if (work->stream == nullptr) return;
  work->stream->in_flight.push_back(work);
  streams_.Busy(work->stream);
}

void Mover::Cancel(StreamWork* work) {
  MutexLock lock(memory_.mu);
  work->released ? counts_.Ended(*work) : counts_.Unheld(*work);
  SetInSubmission(work, false);
  trials_.Cancelled(*work);
  if (work->barrier()) memory_.unknown_work.fetch_sub(1, std::memory_order_relaxed);
  held_fingerprints_ -= std::exchange(work->held_fingerprints, 0);
  MakeRoom(std::min<size_t>(queue_.Remove(work), waiting_for_room_));
  std::erase(work->stream->held, work);
  if (work->stream->awaiting != 0) work->stream->let_go.NotifyAll();
  std::erase(work->stream->in_flight, work);
  work->released ? plan_maker_.Ended(*work) : plan_maker_.Remake();
  --works_in_submission_;
  Recycle(work);
  WakeThread();
}

void Mover::WaitForRoom(size_t most) {
  if (MuchHeld(most)) [[unlikely]] {
    ++waiting_for_room_;
    WaitUntil(room_, [&]() VS_NO_THREAD_SAFETY_ANALYSIS { return !MuchHeld(most); });
    --waiting_for_room_;
    // Work that is not held after all makes no room for the next.
    if (!MuchHeld(kMostHeld)) MakeRoom(1);
  }
}

void Mover::MakeRoom(size_t works) {
  for (; works != 0; --works) room_.NotifyOne();
}

bool Mover::CountIn(StreamWork* work) {
  // The mover may be inside the driver, and what has finished meanwhile goes unseen.
  if (counted_ >= kMostCounted && PollFinished()) WakeThread();
  if (counted_ >= kMostCounted) return false;
  ++counted_;
  work->counted = true;
  return true;
}

StreamWork* Mover::NewWork() {
  if (spare_works_.empty()) {
    works_.push_back(std::make_unique<StreamWork>());
    spare_works_.push_back(works_.back().get());
  }
  StreamWork* work = spare_works_.back();
  spare_works_.pop_back();
  work->Renew();
  work->id = next_work_++;
  return work;
}

void Mover::Recycle(StreamWork* work) {
  if (std::exchange(work->counted, false)) --counted_;
  spare_works_.push_back(work);
}

void Mover::SetInSubmission(StreamWork* work, bool in_submission) {
  counts_.SetInSubmission(work, in_submission);
}

void Mover::TeachKernel(uint64_t kernel, double passes, uint64_t resident_ns) {
  MutexLock lock(memory_.mu);
  trials_.history().Teach(kernel, passes, resident_ns);
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
  idle_fetches_.LookAgain();
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
      unmapped_.MapAll();
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
    DoubtTwins(/*but_read_mostly=*/true);
  }
  // Recording may have failed to start before.
  if (!tracking && memory_.filling()) WakeAndStartTracking();
  VS_RETURN_IF_ERROR(memory_.DrainAndReclaim());
  return TakeError();
}

Status Mover::TakeError() {
  MutexLock lock(memory_.mu);
  if (error_.ok()) return driver_->TakeNoted();
  // A dead context stays dead, and everybody who asks is told.
  if (dead_) return error_;
  return std::exchange(error_, absl::OkStatus());
}

MoverStatistics Mover::statistics() {
  MutexLock lock(memory_.mu);
  stats_.trials = trials_.made();
  stats_.forecast_hits = sequence_.hits();
  stats_.forecast_misses = sequence_.misses();
  return stats_;
}

}  // namespace vramspan
