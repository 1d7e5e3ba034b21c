#include "runtime/api/runtime.h"

#include <absl/strings/str_format.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>

#include "runtime/api/spill_text.h"
#include "runtime/api/statistics_text.h"
#include "runtime/api/tracing.h"
#include "runtime/base/log.h"
#include "runtime/base/uncancellable.h"

namespace vramspan {
namespace {

// A thread that is in a scope for longer waits for something, or it died there.
constexpr std::chrono::seconds kScopePatience{5};

}  // namespace

Status Runtime::End(std::unique_ptr<Runtime>* runtime) {
  Runtime& r = **runtime;
  r.StopHolding();
  const bool left =
      r.tracer_ == nullptr || Tracing::Get().Remove(r.tracer_.get(), r.memory_->page_map().base());
  if (left && r.mover_->AwaitScopes(kScopePatience)) {
    runtime->reset();
    return absl::OkStatus();
  }
  r.mover_->StopMoving();
  return absl::DeadlineExceededError(
      left ? "a work scope is open; end it, then try again"
           : "a thread is inside a call that submits work; try again when it has returned");
}

void Runtime::TellSpill(const vramspanStatistics& statistics) const {
  // An audit moves memory for its own sake.
  if (audit_ != nullptr) return;
  const auto since = memory_->supply().short_since();
  if (!since.has_value()) return;
  SpillFacts facts{.short_for = std::chrono::steady_clock::now() - *since,
                   .most_on_host = memory_->supply().most_on_host()};
  if (tracer_ != nullptr) {
    facts.held_up = tracer_->launches_held_up();
    facts.read = tracer_->reads_code();
  }
  const std::string text = SpillText(statistics, facts, prices_);
  memory_->supply().TellShortageAtEnd(/*was_used=*/!text.empty());
  if (!text.empty()) Log(LogLevel::kWarning, text);
}

Runtime::~Runtime() {
  // One that was never whole has nothing to tell.
  if (mover_ != nullptr) {
    const vramspanStatistics statistics = Statistics();
    TellSpill(statistics);
    driver_->RecordBackgroundError(
        WriteStatistics(statistics, {.kernels = Tracing::Kernels(kKernelsTold)}));
  }
  showing_.Use(nullptr);
  live_.reset();
  if (tracer_ != nullptr) Tracing::Get().Remove(tracer_.get(), memory_->page_map().base());
  audit_.reset();
  learning_.reset();
  if (lease_ != nullptr) lease_->Rest();
  if (room_ != nullptr) room_->SetListener(nullptr);
  mover_.reset();
  // What may still run without having been declared must not lose its memory under way.
  if (memory_ != nullptr) driver_->RecordBackgroundError(memory_->drains().Drain());
  if (recorder_ != nullptr) recorder_->StopWatching();
  memory_.reset();
  room_.reset();
  lease_.reset();
  profile_pins_.reset();
  recorder_.reset();
  events_.reset();
  if (retained_) {
    driver_->RecordBackgroundError(
        Check((*driver_)->DevicePrimaryCtxRelease(device_), "cuDevicePrimaryCtxRelease"));
  }
}

void Runtime::EndRecordedMoves() {
  if (recorder_ == nullptr || mover_->StopMoving()) return;
  Log(LogLevel::kInfo, "the process ends while memory moves, so the last moves are not recorded");
}

StatusOr<DevicePtr> Runtime::Allocate(Bytes size) {
  StatusOr<DevicePtr> p = WithLease(size, [&] { return memory_->Allocate(size); });
  if (recorder_ != nullptr && p.ok()) recorder_->Allocated(*p, size);
  if (profile_pins_ != nullptr && p.ok()) profile_pins_->Allocated(*p, size);
  memory_->supply().TellShortage();
  if (size > SmallObjects::kMaxSmall && memory_->supply().filling()) {
    memory_->supply().PrepareHost();
    mover_->WakeAndStartTracking();
  }
  return p;
}

Status Runtime::Free(DevicePtr ptr, bool idle) {
  if (tracer_ != nullptr || recorder_ != nullptr || profile_pins_ != nullptr) {
    const StatusOr<Allocation> a = memory_->Find(ptr);
    const bool found = a.ok() && a->base == ptr;
    if (found && tracer_ != nullptr) tracer_->Freed(ptr, a->requested);
    if (found && recorder_ != nullptr) recorder_->Freeing(ptr);
    if (found && profile_pins_ != nullptr) profile_pins_->Freeing(ptr);
  }
  const Status status = memory_->Free(ptr, idle);
  showing_.Change();
  if (memory_->has_dying() || (tracer_ != nullptr && mover_->tracking())) mover_->Wake();
  return status;
}

Status Runtime::BeginWork(CUstream stream, absl::Span<const WorkRange> ranges, Access access) {
  if (recorder_ == nullptr && tracer_ == nullptr) [[likely]]
    return mover_->Begin(stream, ranges, access);
  const Uncancellable now;
  const uint64_t tag = recorder_ == nullptr ? 0 : recorder_->Declaring(stream, ranges, access);
  mover_->placements().ScopeOpens();
  const Status begun = mover_->Begin(stream, ranges, access, 0, tag);
  if (!begun.ok()) mover_->placements().ScopeCloses();
  if (begun.ok() && tag != 0) recorder_->Starting();
  return begun;
}

Status Runtime::EndWork(CUstream stream) {
  if (recorder_ == nullptr && tracer_ == nullptr) [[likely]]
    return mover_->End(stream);
  const Uncancellable now;
  if (recorder_ != nullptr) recorder_->Submitted();
  const bool open = Mover::InScope();
  const Status ended = mover_->End(stream);
  if (open && !Mover::InScope()) mover_->placements().ScopeCloses();
  return ended;
}

Status Runtime::Advise(DevicePtr ptr, Bytes size, vramspanAdvice advice) {
  MutexLock lock(memory_->mu);
  // The analysis does not see the lock from inside a lambda.
  const auto advise = [&](ChunkIndex index, Chunk& c) VS_NO_THREAD_SAFETY_ANALYSIS {
    memory_->chunks().NoteChange(index);
    c.read_mostly = advice == VRAMSPAN_ADVISE_READ_MOSTLY;
    const bool in_place =
        advice == VRAMSPAN_ADVISE_PREFER_HOST || advice == VRAMSPAN_ADVISE_STREAMED_ONCE;
    memory_->policy().Advise(index, /*leaves_first=*/in_place, c.on_device);
    switch (advice) {
      case VRAMSPAN_ADVISE_KEEP_ON_DEVICE:
        c.advice = Advice::kKeepOnDevice;
        break;
      case VRAMSPAN_ADVISE_PREFER_HOST:
        c.advice = Advice::kPreferHost;
        break;
      case VRAMSPAN_ADVISE_STREAMED_ONCE:
        c.advice = Advice::kStreamedOnce;
        break;
      case VRAMSPAN_ADVISE_NONE:
      case VRAMSPAN_ADVISE_READ_MOSTLY:
        c.advice = Advice::kNone;
        break;
    }
  };
  if (memory_->ForEachChunk(ptr, size, advise)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrFormat(
      "cannot advise: 0x%x does not lie in a live allocation of this runtime", ptr.value));
}

StatusOr<vramspanResidency> Runtime::Residency(DevicePtr ptr, Bytes size) {
  const auto not_ours = [ptr] {
    return absl::InvalidArgumentError(
        absl::StrFormat("0x%x does not lie in a live allocation of this runtime", ptr.value));
  };
  const StatusOr<Allocation> a = memory_->Find(ptr);
  if (!a.ok()) return not_ours();
  size = std::min(size, a->requested - (ptr - a->base));
  vramspanResidency r{};
  MutexLock lock(memory_->mu);
  const uint64_t end = ptr.value + size.value;
  const bool found = memory_->ForEachChunk(ptr, size, [&](ChunkIndex, Chunk& c) {
    const uint64_t from = std::max(ptr.value, c.base.value);
    const uint64_t to = std::min(end, (c.base + c.size()).value);
    const uint64_t bytes = to > from ? to - from : 0;
    (c.on_device ? r.device_bytes : r.host_bytes) += bytes;
    if (c.state == ChunkState::kPinned) r.pinned_bytes += bytes;
    if (c.state == ChunkState::kDeviceTwin) r.twin_bytes += bytes;
  });
  if (found) return r;
  return not_ours();
}

}  // namespace vramspan
