// Memory that the program itself maps and unmaps.
#include "runtime/api/runtime.h"

namespace vramspan {
StatusOr<Memory::Loose> Runtime::MakeLoose(Bytes size) {
  StatusOr<Memory::Loose> loose = memory_->MakeLoose(size);
  if (memory_->filling()) {
    memory_->PrepareHost();
    mover_->WakeAndArm();
  }
  return loose;
}

StatusOr<std::vector<Memory::Loose>> Runtime::UnmapLoose(absl::Span<const DevicePtr> mappings,
                                                         DevicePtr p, Bytes size) {
  StatusOr<std::vector<Memory::Loose>> loose = mover_->Unmap(mappings, p, size);
  if (loose.ok() && tracer_ != nullptr) {
    for (size_t i = 0; i < mappings.size(); ++i) tracer_->Freed(mappings[i], (*loose)[i].size());
  }
  return loose;
}

StatusOr<Memory::Loose> Runtime::ReplaceLoose(absl::Span<const DevicePtr> mappings, Bytes size,
                                              CUmemGenericAllocationHandle by,
                                              absl::FunctionRef<Status(const Memory::Loose&)> copy,
                                              absl::FunctionRef<Status(DevicePtr)> open) {
  StatusOr<Memory::Loose> loose = mover_->Replace(mappings, size, by, copy, open);
  if (loose.ok() && tracer_ != nullptr) {
    for (const DevicePtr at : mappings) tracer_->Freed(at, size);
  }
  return loose;
}

}  // namespace vramspan
