// What is known of the program's streams: whether what they carried before work was recorded is
// done, and what becomes of them when they, or their threads, end.
#include <utility>

#include "runtime/base/own_calls.h"
#include "runtime/mover/mover.h"

namespace vramspan {

uint64_t Mover::NextStreamCaches() {
  static std::atomic<uint64_t> next{1};
  return next.fetch_add(1, std::memory_order_relaxed);
}

void Mover::UpdateTracking() {
  if (!tracking_.load(std::memory_order_relaxed)) return;
  const uint64_t draining = draining_ + streams_.unrecorded();
  accounts_.stats.unsettled_streams = draining;
  memory_.SetTracking(draining == 0 ? Tracking::kAll : Tracking::kSinceTracking);
  scheduler_.Track(memory_.tracking());
}

void Mover::DrainStreams() {
  MutexLock lock(memory_.mu);
  for (const auto& state : streams_.all()) streams_.SetUnrecorded(state.get(), false);
  streams_.Sweep();
  UpdateTracking();
  WakeThread();
}

void Mover::MarkUnrecorded() {
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
    const CUresult result = (*driver_)->StreamIsCapturing(state->stream, &capture);
    // Left unmarked until it carries work again.
    if (result != CUDA_SUCCESS || capture != CU_STREAM_CAPTURE_STATUS_NONE) continue;
    const StatusOr<uint32_t> mark = Streams::Mark(*driver_, state);
    if (!mark.ok()) {
      driver_->RecordBackgroundError(mark.status());
      continue;
    }
    MutexLock lock(memory_.mu);
    DrainsAt(state, *mark);
  }
}

void Mover::StopTracking() {
  memory_.StopTracking();
  scheduler_.Track(memory_.tracking());
}

void Mover::DrainsAt(StreamState* state, uint32_t mark) {
  streams_.SetUnrecorded(state, false);
  if (!std::exchange(state->drained_at, mark).has_value()) ++draining_;
  streams_.Busy(state);
}

StatusOr<std::optional<uint32_t>> Mover::MarkLast(StreamState* state) {
  CUstreamCaptureStatus capture = CU_STREAM_CAPTURE_STATUS_NONE;
  VS_RETURN_IF_ERROR(
      Check((*driver_)->StreamIsCapturing(state->stream, &capture), "cuStreamIsCapturing"));
  // The mark would be captured, and never reached.
  if (capture != CU_STREAM_CAPTURE_STATUS_NONE) {
    return absl::FailedPreconditionError("a stream ended while it was capturing");
  }
  const CUresult done = (*driver_)->StreamQuery(state->stream);
  if (done == CUDA_SUCCESS) return std::nullopt;
  if (done != CUDA_ERROR_NOT_READY) return Check(done, "cuStreamQuery");
  VS_ASSIGN_OR_RETURN(const uint32_t mark, Streams::Mark(*driver_, state));
  return mark;
}

void Mover::EndThread() {
  const OwnCalls own;
  driver_->RecordBackgroundError(Forget(CU_STREAM_PER_THREAD));
}

}  // namespace vramspan
