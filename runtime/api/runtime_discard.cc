// Memory whose contents the program does not want any more.
#include <algorithm>
#include <new>

#include "runtime/api/runtime.h"

namespace vramspan {

void Runtime::BlockReported(DevicePtr p, int64_t bytes, bool captured) {
  if (tracer_ == nullptr) return;
  Blocks& blocks = tracer_->blocks();
  if (bytes > 0) {
    const Bytes size(static_cast<uint64_t>(bytes));
    // It may have been given up until now. Also where its use could not be noted.
    try {
      blocks.HandedOut(p, size, captured);
    } catch (...) {
      Own(p, size);
      throw;
    }
    return Own(p, size);
  }
  // A recording of the run hears of it at any time. Memory is given up only if it came back while
  // memory moves: work of other contexts is seen only then.
  constexpr Blocks::Watch kRecorded = ~Blocks::Watch{0};
  const Blocks::Watch moving = mover_->placements().watch();
  const Blocks::Watch watch = moving == 0 && recorder_ != nullptr ? kRecorded : moving;
  const Bytes size(-static_cast<uint64_t>(bytes));
  if (watch != 0) {
    blocks.TellUnused(watch, [this, &blocks, watch](DevicePtr unused, Bytes unused_size) {
      // Allocations lie side by side, and each is given up by itself.
      for (const DevicePtr end = unused + unused_size; unused < end;) {
        const StatusOr<Allocation> a = memory_->Find(unused);
        if (!a.ok()) return;
        const Bytes rest = a->base + std::max(a->reserved, a->requested) - unused;
        const Bytes here = std::min(rest, end - unused);
        // A hint: nothing is lost where it is not taken.
        if (blocks.IsNobodys(a->base, unused, here)) {
          GiveUp(unused, here, /*unowned=*/true, watch).IgnoreError();
        }
        unused = unused + here;
      }
    });
  }
  blocks.CameBack(p, size, captured, watch);
}

void Runtime::OnlyReported(DevicePtr allocation) {
  if (tracer_ == nullptr) return;
  try {
    tracer_->blocks().OnlyReported(allocation);
  } catch (const std::bad_alloc&) {
    // It was a hint.
  }
}

void Runtime::ForgetBlocks(DevicePtr ptr, Bytes size) {
  if (tracer_ != nullptr) tracer_->blocks().Gone(ptr, size, /*unmapped=*/false);
}

void Runtime::Own(DevicePtr ptr, Bytes size) {
  mover_->placements().Own(ptr, size);
  if (recorder_ != nullptr) recorder_->Owned(ptr, size);
}

Status Runtime::GiveUp(DevicePtr ptr, Bytes size, bool unowned, std::optional<uint64_t> during) {
  if (!unowned && Mover::InScope()) {
    return absl::FailedPreconditionError(
        "memory cannot be discarded inside a work scope; end the scope first");
  }
  if (tracer_ != nullptr)
    VS_RETURN_IF_ERROR(mover_->placements().GiveUp(ptr, size, unowned, during));
  // Told whether or not memory is short: it may be in a replay. What this thread has submitted was
  // told with an earlier time, and what it submits next will be with a later one.
  if (recorder_ != nullptr) recorder_->Discarded(ptr, size, unowned);
  return absl::OkStatus();
}

}  // namespace vramspan
