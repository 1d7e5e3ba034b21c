#include "runtime/mover/program_streams.h"

#include <utility>
#include <vector>

#include "runtime/base/own_calls.h"
#include "runtime/base/thread_local.h"
#include "runtime/base/uncancellable.h"

namespace vramspan {
namespace {

// Streams that this thread has told of, so that it need not ask again.
struct Noted {
  uint64_t notes = 0;
  CUstream stream = nullptr;
  StreamState* state = nullptr;
};
VS_HOT_THREAD_LOCAL Noted noted[4];
VS_HOT_THREAD_LOCAL unsigned next_noted = 0;

// Of all movers, each once.
uint64_t NextCaches() {
  static std::atomic<uint64_t> next{1};
  return next.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

ProgramStreams::ProgramStreams(Memory* memory, Scheduler* scheduler, MoverAccounts* accounts,
                               Signals* signals, Gate* gate)
    : memory_(*memory),
      scheduler_(*scheduler),
      accounts_(*accounts),
      signals_(*signals),
      gate_(*gate),
      streams_(memory->shared_driver()),
      caches_(NextCaches()),
      // The calling thread ends, and its default stream with it.
      ended_threads_(std::make_shared<EndedThreads>([this] {
        const OwnCalls own;
        memory_.driver().RecordBackgroundError(Forget(CU_STREAM_PER_THREAD));
      })) {}

void ProgramStreams::FreePages() {
  MutexLock lock(memory_.mu);
  streams_.FreePages();
}

Status ProgramStreams::NoteUnrecorded(CUstream stream) {
  const uint64_t notes = caches_.load(std::memory_order_acquire);
  for (const Noted& n : noted) {
    if (n.notes == notes && n.stream == stream) [[likely]]
      return absl::OkStatus();
  }
  VS_ASSIGN_OR_RETURN(StreamState * state, StateOf(stream));
  MutexLock lock(memory_.mu);
  streams_.SetUnrecorded(state, true);
  return absl::OkStatus();
}

StatusOr<StreamState*> ProgramStreams::StateOf(CUstream stream) {
  const uint64_t notes = caches_.load(std::memory_order_acquire);
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
    ScopedContext current(memory_.driver(), memory_.options().context);
    VS_RETURN_IF_ERROR(current.status());
    VS_ASSIGN_OR_RETURN(const FlagPage page, Streams::MakePage(memory_.driver()));
    MutexLock lock(memory_.mu);
    streams_.Add(page);
    state = streams_.Get(stream);
  }
  if (stream == CU_STREAM_PER_THREAD) ThreadEnd::Tell(ended_threads_);
  noted[next_noted++ % std::size(noted)] = {notes, stream, state};
  return state;
}

void ProgramStreams::Settled(StreamState* state, uint32_t recording) {
  if (!state->unrecorded || recording != recording_) return;
  streams_.SetUnrecorded(state, false);
  Update();
}

void ProgramStreams::Drained(StreamState* state) {
  state->drained_at.reset();
  --draining_;
  Update();
}

void ProgramStreams::Sweep() {
  streams_.DropIdle();
  streams_.Sweep();
}

void ProgramStreams::RecordingBegan() {
  recorded_ = true;
  Update();
}

void ProgramStreams::RecordingEnded() {
  recorded_ = false;
  ++recording_;
  // Threads are to tell anew which streams carry what is not recorded.
  caches_.store(NextCaches(), std::memory_order_release);
  memory_.SetTracking(Tracking::kNone);
  for (uint32_t i = 1; i < memory_.chunks().end(); ++i) {
    Chunk& c = memory_.chunks()[ChunkIndex(i)];
    if (!c.tracked) continue;
    c.tracked = false;
    memory_.chunks().NoteChange(ChunkIndex(i));
  }
  scheduler_.Track(memory_.tracking());
}

void ProgramStreams::Update() {
  if (!recorded_) return;
  const uint64_t draining = draining_ + streams_.unrecorded();
  accounts_.stats.unsettled_streams = draining;
  memory_.SetTracking(draining == 0 ? Tracking::kAll : Tracking::kSinceTracking);
  scheduler_.Track(memory_.tracking());
}

void ProgramStreams::AllSettled(uint32_t recording) {
  MutexLock lock(memory_.mu);
  // Others may have submitted since what no recording has.
  if (!recorded_ || recording != recording_) return;
  for (const auto& state : streams_.all()) streams_.SetUnrecorded(state.get(), false);
  streams_.Sweep();
  Update();
  signals_.Wake();
}

void ProgramStreams::StopTracking() {
  memory_.StopTracking();
  scheduler_.Track(memory_.tracking());
}

void ProgramStreams::MarkUnrecorded() {
  std::vector<StreamState*> states;
  {
    MutexLock lock(memory_.mu);
    for (const auto& state : streams_.all()) {
      // A thread's own default stream is that thread's to mark, when it submits again.
      if (state->unrecorded && !state->forgotten && state->stream != CU_STREAM_PER_THREAD) {
        states.push_back(state.get());
      }
    }
  }
  for (StreamState* state : states) {
    CUstreamCaptureStatus capture = CU_STREAM_CAPTURE_STATUS_NONE;
    const CUresult result = memory_.driver()->StreamIsCapturing(state->stream, &capture);
    // Left unmarked until it carries work again.
    if (result != CUDA_SUCCESS || capture != CU_STREAM_CAPTURE_STATUS_NONE) continue;
    const StatusOr<uint32_t> mark = Streams::Mark(memory_.driver(), state);
    if (!mark.ok()) {
      memory_.driver().RecordBackgroundError(mark.status());
      continue;
    }
    MutexLock lock(memory_.mu);
    DrainsAt(state, *mark);
  }
}

void ProgramStreams::DrainsAt(StreamState* state, uint32_t mark) {
  streams_.SetUnrecorded(state, false);
  if (!std::exchange(state->drained_at, mark).has_value()) ++draining_;
  streams_.Busy(state);
}

StatusOr<std::optional<uint32_t>> ProgramStreams::MarkLast(StreamState* state) {
  const Driver& driver = memory_.driver();
  CUstreamCaptureStatus capture = CU_STREAM_CAPTURE_STATUS_NONE;
  VS_RETURN_IF_ERROR(
      Check(driver->StreamIsCapturing(state->stream, &capture), "cuStreamIsCapturing"));
  // The mark would be captured, and never reached.
  if (capture != CU_STREAM_CAPTURE_STATUS_NONE) {
    return absl::FailedPreconditionError("a stream ended while it was capturing");
  }
  const CUresult done = driver->StreamQuery(state->stream);
  if (done == CUDA_SUCCESS) return std::nullopt;
  if (done != CUDA_ERROR_NOT_READY) return Check(done, "cuStreamQuery");
  VS_ASSIGN_OR_RETURN(const uint32_t mark, Streams::Mark(driver, state));
  return mark;
}

Status ProgramStreams::Forget(CUstream stream) {
  // Until the stream is no longer known, nobody must be looking at it.
  gate_.Enter();
  const Status status = ForgetInside(stream);
  gate_.Exit();
  return status;
}

Status ProgramStreams::ForgetInside(CUstream stream) {
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
    ScopedContext current(memory_.driver(), memory_.options().context);
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
    caches_.store(NextCaches(), std::memory_order_release);
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
  Update();
  signals_.Wake();
  return mark.status();
}

}  // namespace vramspan
