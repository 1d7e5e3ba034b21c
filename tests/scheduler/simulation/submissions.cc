// How a thread submits work, and how long it is inside the driver for that.
#include <algorithm>
#include <utility>

#include "runtime/scheduler/untouched_chunks.h"
#include "tests/scheduler/simulation/threads.h"

namespace vramspan::simulation {
namespace {

using std::chrono::microseconds;

}  // namespace

void Threads::SetInSubmission(SimWork* work, bool in_submission) {
  if (work->in_submission == in_submission) return;
  const int by = in_submission ? 1 : -1;
  memory_.InSubmission(*work, by);
  if (work->access == Access::kUnknown) mover_.unknown_in_submission += by;
  if (common_.Lies(in_submission ? Sabotage::kForgetInSubmission
                                 : Sabotage::kForgetSubmissionEnd)) {
    work->in_submission = in_submission;
    return;
  }
  common_.scheduler->work().SetInSubmission(work, in_submission);
}

void Threads::Captured(uint32_t t) {
  SetInSubmission(threads_[t].work, true);
  threads_[t].stage = Stage::kDriver;
  After(t, microseconds(50));
}

void Threads::Submit(uint32_t t) {
  Thread& thread = threads_[t];
  SimWork* const work = thread.work;
  Scheduler& scheduler = *common_.scheduler;
  if (work->kind == Work::Kind::kCaptured) return Captured(t);
  ++common_.events;
  work->submission = ++common_.submissions;
  work->submitted_at = common_.now;
  for (const ChunkUse& use : work->all) {
    if (IsNobodys(use.how, memory_.chunk(use.chunk))) work->beside.push_back(use.chunk);
  }
  common_.Log("submit", work->id, work->all.size());
  scheduler.Want(work);
  if (scheduler.work().Submit(work, memory_.At())) {
    streams_.Push(work);
    mover_.LetGo(work, /*was_held=*/false);
    return EnterDriver(t);
  }
  memory_.Held(*work, 1);
  if (work->kind == Work::Kind::kPin) {
    work->submitted = true;
    return WaitAs(t, Stage::kPinned);
  }
  streams_.Push(work);
  if (common_.options.shares_context) {
    mover_.Park();
    return WaitAs(t, Stage::kReleased);
  }
  SetInSubmission(work, true);
  thread.cancels = common_.Strikes(Fault::kHoldFails);
  EnterDriver(t);
}

void Threads::EnterDriver(uint32_t t) {
  Thread& thread = threads_[t];
  SimWork* const work = thread.work;
  thread.stage = Stage::kDriver;
  thread.returns = thread.locks = thread.late = false;
  thread.waits = {};
  if (common_.options.blocking_copies && !work->kernels && !thread.cancels) {
    thread.waits = {work, work->submission};
  } else if (common_.Strikes(Fault::kBlockedScope) && thread.last.work != nullptr) {
    // Until some launch of another stream has ended, which may have been submitted long before.
    thread.waits = threads_[common_.random.Below(static_cast<uint32_t>(threads_.size()))].last;
    thread.late = true;
  }
  if (thread.waits.work != nullptr && common_.Strikes(Fault::kDriverLock) && locked_by_ == ~0u) {
    locked_by_ = t;
    thread.locks = true;
  }
  for (const ChunkUse& use : work->all) {
    if (!use.how.kernels_only && !common_.dead) memory_.CheckMapped(use.chunk, "the driver");
  }
  if (!thread.late && !thread.cancels) streams_.Enqueued(work);
  After(t, microseconds(10));
}

bool Threads::MayReturn(uint32_t t) const {
  return Streams::HasEnded(threads_[t].waits) && (locked_by_ == ~0u || locked_by_ == t);
}

void Threads::Return(uint32_t t) {
  Thread& thread = threads_[t];
  SimWork* const work = thread.work;
  thread.work = nullptr;
  if (std::exchange(thread.locks, false)) locked_by_ = ~0u;
  for (const ChunkUse& use : work->all) {
    if (!use.how.kernels_only && !common_.dead) memory_.CheckMapped(use.chunk, "the driver");
  }
  SetInSubmission(work, false);
  common_.wakes = true;
  Think(t);
  if (work->kind == Work::Kind::kCaptured) return streams_.Recycle(work);
  if (std::exchange(thread.cancels, false)) {
    common_.Log("cancel", work->id);
    if (work->released) {
      streams_.NoteReleased(*work, -1);
      memory_.Released(*work, -1);
    } else {
      memory_.Held(*work, -1);
    }
    common_.scheduler->work().Cancelled(work);
    streams_.Cancel(work);
    return streams_.Recycle(work);
  }
  thread.last = {work, work->submission};
  if (thread.late) streams_.Enqueued(work);
  streams_.Left(work);
  if (common_.Strikes(Fault::kSpin)) streams_.MakeOneWaitFor(work);
  if (common_.Strikes(Fault::kContextDies) && !common_.dead && common_.random.Chance(2)) {
    common_.dead = true;
    common_.scheduler->work().ContextDied();
    streams_.ContextDied();
    mover_.EndStuck();
  }
}

void Threads::Unpin(Thread* thread) {
  if (common_.random.Chance(500)) return;
  for (const ChunkIndex c : std::exchange(thread->pinned, {})) mover_.Unpin(c);
}

}  // namespace vramspan::simulation
