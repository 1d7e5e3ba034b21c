// Memory that the program itself maps and unmaps.
#include "runtime/api/runtime.h"

namespace vramspan {
StatusOr<DetachedMemory> Runtime::MakeDetached(Bytes size) {
  StatusOr<DetachedMemory> detached =
      WithLease(size, [&] { return memory_->vmm().MakeDetached(size); });
  memory_->supply().TellShortage();
  if (memory_->supply().filling()) {
    memory_->supply().PrepareHost();
    mover_->WakeAndStartTracking();
  }
  return detached;
}

StatusOr<std::vector<DetachedMemory>> Runtime::UnmapLoose(absl::Span<const DevicePtr> mappings,
                                                          DevicePtr p, Bytes size) {
  StatusOr<std::vector<DetachedMemory>> detached = mover_->Unmap(mappings, p, size);
  if (detached.ok() && tracer_ != nullptr) {
    for (size_t i = 0; i < mappings.size(); ++i)
      tracer_->Freed(mappings[i], (*detached)[i].size(), /*unmapped=*/true);
  }
  return detached;
}

StatusOr<DetachedMemory> Runtime::ReplaceLoose(
    absl::Span<const DevicePtr> mappings, Bytes size, CUmemGenericAllocationHandle by,
    absl::FunctionRef<Status(const DetachedMemory&)> copy,
    absl::FunctionRef<Status(DevicePtr)> open) {
  StatusOr<DetachedMemory> detached = mover_->Replace(mappings, size, by, copy, open);
  if (detached.ok() && tracer_ != nullptr) {
    for (const DevicePtr at : mappings) tracer_->Freed(at, size, /*unmapped=*/true);
  }
  return detached;
}

}  // namespace vramspan
