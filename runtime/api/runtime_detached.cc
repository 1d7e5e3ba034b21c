// Memory that the program itself maps and unmaps.
#include "runtime/api/runtime.h"

namespace vramspan {
StatusOr<Memory::Detached> Runtime::MakeDetached(Bytes size) {
  StatusOr<Memory::Detached> detached = memory_->MakeDetached(size);
  if (memory_->filling()) {
    memory_->PrepareHost();
    mover_->WakeAndStartTracking();
  }
  return detached;
}

StatusOr<std::vector<Memory::Detached>> Runtime::UnmapLoose(absl::Span<const DevicePtr> mappings,
                                                            DevicePtr p, Bytes size) {
  StatusOr<std::vector<Memory::Detached>> detached = mover_->Unmap(mappings, p, size);
  if (detached.ok() && tracer_ != nullptr) {
    for (size_t i = 0; i < mappings.size(); ++i) tracer_->Freed(mappings[i], (*detached)[i].size());
  }
  return detached;
}

StatusOr<Memory::Detached> Runtime::ReplaceLoose(
    absl::Span<const DevicePtr> mappings, Bytes size, CUmemGenericAllocationHandle by,
    absl::FunctionRef<Status(const Memory::Detached&)> copy,
    absl::FunctionRef<Status(DevicePtr)> open) {
  StatusOr<Memory::Detached> detached = mover_->Replace(mappings, size, by, copy, open);
  if (detached.ok() && tracer_ != nullptr) {
    for (const DevicePtr at : mappings) tracer_->Freed(at, size);
  }
  return detached;
}

}  // namespace vramspan
