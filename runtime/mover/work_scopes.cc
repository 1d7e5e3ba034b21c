#include "runtime/mover/work_scopes.h"

#include <thread>

#include "runtime/base/thread_local.h"
#include "runtime/base/thread_number.h"
#include "runtime/base/uncancellable.h"
#include "runtime/mover/now.h"

namespace vramspan {
namespace {

// The scope that the thread has open, in whichever runtime.
struct Scope {
  const WorkScopes* of = nullptr;
  CUstream stream = nullptr;
  StreamWork* work = nullptr;  // None: not recorded (memory suffices, or the stream captures).
};
VS_HOT_THREAD_LOCAL Scope scope;

}  // namespace

bool WorkScopes::InScope() { return scope.of != nullptr; }
bool WorkScopes::InOwnScope() const { return scope.of == this; }

Status WorkScopes::Begin(CUstream stream, absl::Span<const WorkRange> ranges, Access access,
                         uint64_t kernel, uint64_t tag, KeptUses* kept) {
  if (scope.of != nullptr) {
    return absl::FailedPreconditionError(
        "this thread already has a work scope open; end it first, because scopes do not nest");
  }
  parts_.gate->Enter();
  StreamWork* work = nullptr;
  Status status;
  if (!parts_.recording->begun()) [[likely]] {
    status = parts_.streams->NoteUnrecorded(stream);
  } else {
    StatusOr<StreamWork*> begun = BeginTracked(stream, ranges, access, kernel, tag, kept);
    status = begun.status();
    if (begun.ok()) work = *begun;
  }
  if (!status.ok()) {
    parts_.gate->Exit();
    return status;
  }
  scope = {this, stream, work};
  return absl::OkStatus();
}

StatusOr<StreamWork*> WorkScopes::BeginTracked(CUstream stream, absl::Span<const WorkRange> ranges,
                                               Access access, uint64_t kernel, uint64_t tag,
                                               KeptUses* kept) {
  const Uncancellable now;
  const Driver& driver = memory_.driver();
  CUcontext current = nullptr;
  VS_RETURN_IF_ERROR(Check(driver->CtxGetCurrent(&current), "cuCtxGetCurrent"));
  if (current != memory_.options().context) {
    return absl::FailedPreconditionError(
        "work was declared in another context than the runtime's; make the context current that "
        "the runtime was created in");
  }
  CUstreamCaptureStatus capture = CU_STREAM_CAPTURE_STATUS_NONE;
  const CUresult result = driver->StreamIsCapturing(stream, &capture);
  // The legacy stream beside a capturing one: what is submitted there fails by itself.
  if (result == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT) return nullptr;
  VS_RETURN_IF_ERROR(Check(result, "cuStreamIsCapturing"));
  if (capture != CU_STREAM_CAPTURE_STATUS_NONE) {
    if (access != Access::kUnknown && KernelsOnly(ranges)) return nullptr;
    return BeginCaptured(ranges, access);
  }
  if (parts_.work->holds_new()) [[unlikely]]
    AwaitTurn();
  return TakeIn({.access = access, .kernel = kernel, .tag = tag}, stream, ranges, kept);
}

void WorkScopes::AwaitTurn() {
  // It may take seconds: whoever closes the gate must not wait for that. Whoever takes the mover
  // apart must, and recording does not end meanwhile.
  parts_.gate->StepOut();
  {
    MutexLock lock(memory_.mu);
    parts_.work->AwaitTurn();
  }
  parts_.gate->StepIn();
}

bool WorkScopes::AwaitTurns(std::chrono::milliseconds patience) const {
  const auto until = std::chrono::steady_clock::now() + patience;
  while (parts_.gate->outside() != 0) {
    if (std::chrono::steady_clock::now() >= until) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

StatusOr<StreamWork*> WorkScopes::BeginCaptured(absl::Span<const WorkRange> ranges, Access access) {
  MutexLock lock(memory_.mu);
  StreamWork* work = parts_.work->New();
  work->kind = Work::Kind::kCaptured;
  const bool counted = parts_.work->CountIn(work);
  work->access = counted ? access : Access::kUnknown;
  if (counted) parts_.work->Collect(ranges, nullptr, work);
  const Status reachable = parts_.work->WaitReachable(*work);
  if (!reachable.ok()) {
    parts_.work->Recycle(work);
    return reachable;
  }
  parts_.scheduler->work().SetInSubmission(work, true);
  return work;
}

Status WorkScopes::Submit(Work::Kind kind, const WorkRange& range, CUstream stream) {
  parts_.gate->Enter();
  const StatusOr<StreamWork*> work = TakeIn({.kind = kind}, stream, {&range, 1});
  const Status status = work.ok() ? EndWork(*work) : work.status();
  parts_.gate->Exit();
  return status;
}

StatusOr<StreamWork*> WorkScopes::TakeIn(const NewWork& what, CUstream stream,
                                         absl::Span<const WorkRange> ranges, KeptUses* kept) {
  VS_ASSIGN_OR_RETURN(StreamState* const state, parts_.streams->StateOf(stream));
  StreamWork* work = nullptr;
  VS_ASSIGN_OR_RETURN(const Taken taken, Take(what, state, ranges, kept, &work));
  if (taken == Taken::kRuns) return work;
  const Status status = HoldStream(work, taken == Taken::kHeldAfterMark);
  if (status.ok()) return work;
  MutexLock lock(memory_.mu);
  parts_.work->Cancel(work);
  return status;
}

StatusOr<WorkScopes::Taken> WorkScopes::Take(const NewWork& what, StreamState* state,
                                             absl::Span<const WorkRange> ranges, KeptUses* kept,
                                             StreamWork** out) {
  MutexLock lock(memory_.mu);
  StreamWork* const work = *out = parts_.work->New();
  work->kind = what.kind;
  work->access = what.access;
  work->kernel = what.kernel;
  work->tag = what.tag;
  work->stream = state;
  const bool in_threads = parts_.work->waits_in_threads();
  if (!in_threads) parts_.work->WaitForRoom(ranges, work->access);
  work->submitter.stream_key = work->stream;
  work->submitter.thread = ThreadNumber::Mine();
  work->submitted_at = Now();
  if (parts_.work->CountIn(work)) {
    parts_.work->Collect(ranges, kept, work);
  } else if (work->kind == Work::Kind::kScope) {
    work->access = Access::kUnknown;
    work->kernel = 0;
  }
  const Status reachable = parts_.work->WaitReachable(*work);
  if (!reachable.ok()) {
    parts_.work->Recycle(work);
    return reachable;
  }
  parts_.work->Submit(work);
  if (!work->held) return Taken::kRuns;
  if (in_threads) {
    // The host is what holds the launch here, so the stream has arrived when it is idle enough:
    // nothing tells, and the chunks stay until work that declared them has finished.
    parts_.scheduler->work().ArrivesUntold(work);
    parts_.signals->Wake();
    parts_.watch->WaitUntil([work] { return work->released; });
    return Taken::kRuns;
  }
  parts_.scheduler->work().SetInSubmission(work, true);
  if (work->needs_arrival) return Taken::kHeldAfterMark;
  parts_.signals->Wake();
  return Taken::kHeld;
}

Status WorkScopes::HoldStream(StreamWork* work, bool mark) {
  StreamState* const state = work->stream;
  const Driver& driver = memory_.driver();
  if (mark) {
    VS_ASSIGN_OR_RETURN(const uint32_t arrival, Streams::Mark(driver, state));
    MutexLock lock(memory_.mu);
    work->arrival = arrival;
    parts_.signals->Wake();
  }
  return Check(driver->StreamWaitValue32(state->stream, state->hold_address, work->hold,
                                         CU_STREAM_WAIT_VALUE_GEQ),
               "cuStreamWaitValue32", "to hold a launch");
}

Status WorkScopes::End(CUstream stream) {
  if (scope.of != this) {
    return absl::FailedPreconditionError(
        scope.of == nullptr ? "no work scope is open on this thread"
                            : "the work scope open on this thread is another runtime's");
  }
  const Scope mine = scope;
  scope = {};
  Status status;
  if (mine.work != nullptr) status = EndWork(mine.work);
  parts_.gate->Exit();
  // Nothing will say that the thread has ended, so the stream ends with each of its calls.
  if (mine.stream == CU_STREAM_PER_THREAD && ThreadEnd::Told()) [[unlikely]] {
    memory_.driver().RecordBackgroundError(parts_.streams->Forget(mine.stream));
  }
  if (status.ok() && stream != mine.stream) {
    return absl::InvalidArgumentError(
        "the work scope was opened on another stream; it has ended on that stream");
  }
  return status;
}

Status WorkScopes::EndWork(StreamWork* work) {
  const Uncancellable now;
  if (work->kind == Work::Kind::kCaptured) {
    MutexLock lock(memory_.mu);
    parts_.scheduler->work().SetInSubmission(work, false);
    parts_.work->Recycle(work);
    parts_.signals->Wake();
    return absl::OkStatus();
  }
  if (!parts_.work->waits_in_threads()) parts_.prints->Queue(work);
  const Driver& driver = memory_.driver();
  const StatusOr<uint32_t> mark = Streams::Mark(driver, work->stream);
  // Nothing will tell when the work is done, so wait for it here. That this fails as well means a
  // dead context, in which nothing runs any more.
  if (!mark.ok()) {
    driver.RecordBackgroundError(Check(driver->StreamSynchronize(work->stream->stream),
                                       "cuStreamSynchronize", "for work without a mark"));
  }
  MutexLock lock(memory_.mu);
  parts_.scheduler->work().SetInSubmission(work, false);
  if (mark.ok()) work->end = *mark;
  work->submitted = true;
  if (!mark.ok()) parts_.signals->Wake();
  return mark.status();
}

void WorkScopes::AwaitRelease(CUstream stream) {
  if (!parts_.recording->begun()) return;
  const Uncancellable now;
  MutexLock lock(memory_.mu);
  StreamState* const state = parts_.streams->Find(stream);
  if (state == nullptr || state->held.empty()) return;
  const uint64_t last = state->held.back()->id;
  ++state->awaiting;
  parts_.watch->WaitUntil(state->let_go, [state, last] {
    return state->held.empty() || state->held.front()->id > last;
  });
  --state->awaiting;
}

}  // namespace vramspan
