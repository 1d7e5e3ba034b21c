#include "tools/simcuda/stream.h"

#include <utility>

#include "tools/simcuda/capture.h"
#include "tools/simcuda/context.h"

namespace simcuda {
namespace {

uint64_t NextStreamId() {
  static std::atomic<uint64_t> next{1};
  return next.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

Stream::Stream(ContextPtr context, StreamKind kind, int priority, HardwareQueue* queue)
    : context_(std::move(context)),
      kind_(kind),
      priority_(priority),
      id_(NextStreamId()),
      queue_(queue) {}

CUresult Stream::Submit(OpPtr op, Ticket* ticket) {
  if (ticket != nullptr) *ticket = Ticket();
  if (capturing()) {
    bool diverted = false;
    const CUresult result = capture::Divert(*this, op, &diverted);
    if (diverted || result != CUDA_SUCCESS) return result;
  } else if (kind_ == StreamKind::kLegacy) {
    const CUresult result = capture::CheckLegacyCall(*context_, /*synchronous=*/false);
    if (result != CUDA_SUCCESS) return result;
  }
  return SubmitUncaptured(std::move(op), ticket);
}

CUresult Stream::SubmitUncaptured(OpPtr op, Ticket* ticket) {
  return context_->Enqueue(*this, std::move(op), ticket);
}

std::vector<Ticket> Stream::PendingTickets() { return context_->PendingTickets(*this); }

std::shared_ptr<capture::Session> Stream::capture_session() const {
  MutexLock lock(capture_mutex_);
  return capture_session_;
}

void Stream::set_capture_session(std::shared_ptr<capture::Session> session) {
  MutexLock lock(capture_mutex_);
  capture_session_ = std::move(session);
  capturing_.store(capture_session_ != nullptr, std::memory_order_release);
}

}  // namespace simcuda
