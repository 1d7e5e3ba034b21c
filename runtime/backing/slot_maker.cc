#include "runtime/backing/slot_maker.h"

#include <absl/strings/str_cat.h>

#include <utility>

namespace vramspan {

SlotMaker::SlotMaker(std::shared_ptr<const Driver> driver, const SlotPoolOptions* options,
                     std::unique_ptr<Arena> aliases)
    : driver_(std::move(driver)),
      options_(*options),
      aliases_(std::move(aliases)),
      base_(aliases_->base()) {}

std::string SlotMaker::Text(int log2) const {
  return absl::StrCat(ChunkBytes(log2).value >> 20, " MiB of ", options_.memory, " memory");
}

StatusOr<CUmemGenericAllocationHandle> SlotMaker::CreateHandle(int log2,
                                                               CUmemAllocationHandleType types) {
  const ScopedContext context(*driver_, options_.context);
  VS_RETURN_IF_ERROR(context.status());
  CUmemAllocationProp prop{};
  prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  prop.location = options_.location;
  prop.requestedHandleTypes = types;
  CUmemGenericAllocationHandle handle = 0;
  const CUresult result = (*driver_)->MemCreate(&handle, ChunkBytes(log2).value, &prop, 0);
  if (result == CUDA_SUCCESS) return handle;
  std::string what = Text(log2);
  if (result == CUDA_ERROR_OUT_OF_MEMORY) absl::StrAppend(&what, ": ", options_.shortage_hint);
  return DriverError(result, "cuMemCreate", what);
}

StatusOr<DevicePtr> SlotMaker::MapAlias(CUmemGenericAllocationHandle handle, int log2) {
  const ScopedContext context(*driver_, options_.context);
  VS_RETURN_IF_ERROR(context.status());
  const Bytes size = ChunkBytes(log2);
  DevicePtr alias;
  {
    MutexLock lock(mutex_);
    VS_ASSIGN_OR_RETURN(alias, aliases_->Take(size, kGranularity));
  }
  Status status = Check((*driver_)->MemMap(alias.value, size.value, 0, handle, 0), "cuMemMap",
                        RangeText(alias, size));
  if (!status.ok()) {
    MutexLock lock(mutex_);
    aliases_->Give(alias, size);
    return status;
  }
  CUmemAccessDesc access{};
  access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  access.location.id = options_.ordinal;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  status = Check((*driver_)->MemSetAccess(alias.value, size.value, &access, 1), "cuMemSetAccess",
                 RangeText(alias, size));
  if (status.ok()) return alias;
  driver_->RecordBackgroundError(UnmapAlias(alias, log2));
  return status;
}

Status SlotMaker::UnmapAlias(DevicePtr alias, int log2) {
  const Bytes size = ChunkBytes(log2);
  VS_RETURN_IF_ERROR(
      Check((*driver_)->MemUnmap(alias.value, size.value), "cuMemUnmap", RangeText(alias, size)));
  MutexLock lock(mutex_);
  aliases_->Give(alias, size);
  return absl::OkStatus();
}

Status SlotMaker::Destroy(int log2, const Slot& slot, Slot* left) {
  *left = slot;
  if (left->alias.value != 0) {
    VS_RETURN_IF_ERROR(UnmapAlias(left->alias, log2));
    left->alias = DevicePtr();
  }
  VS_RETURN_IF_ERROR(Check((*driver_)->MemRelease(left->handle), "cuMemRelease", Text(log2)));
  left->handle = 0;
  return absl::OkStatus();
}

}  // namespace vramspan
