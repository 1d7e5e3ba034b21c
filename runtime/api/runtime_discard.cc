// Memory whose contents the program does not want any more.
#include "runtime/api/runtime.h"

namespace vramspan {

void Runtime::Own(DevicePtr ptr, Bytes size) { mover_->placements().Own(ptr, size); }

Status Runtime::GiveUp(DevicePtr ptr, Bytes size, bool unowned) {
  if (!unowned && Mover::InScope()) {
    return absl::FailedPreconditionError(
        "memory cannot be discarded inside a work scope; end the scope first");
  }
  if (tracer_ != nullptr) VS_RETURN_IF_ERROR(mover_->placements().GiveUp(ptr, size, unowned));
  // Told whether or not memory is short: it may be in a replay. What this thread has submitted was
  // told with an earlier time, and what it submits next will be with a later one.
  if (recorder_ != nullptr) recorder_->Discarded(ptr, size);
  return absl::OkStatus();
}

}  // namespace vramspan
