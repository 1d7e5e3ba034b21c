#include "runtime/mover/remap.h"

#include <algorithm>

namespace vramspan {

bool Accessors::Add(int device) {
  const auto same = [device](const CUmemAccessDesc& a) { return a.location.id == device; };
  if (std::any_of(access_.begin(), access_.end(), same)) return false;
  CUmemAccessDesc access{};
  access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  access.location.id = device;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  access_.push_back(access);
  ++changes_;
  return true;
}

bool Accessors::Remove(int device) {
  const auto same = [device](const CUmemAccessDesc& a) { return a.location.id == device; };
  // The first is its own, for good.
  const auto it = std::find_if(access_.begin() + 1, access_.end(), same);
  if (it == access_.end()) return false;
  access_.erase(it);
  ++changes_;
  return true;
}

Status GiveAccess(const Driver& driver, const Accessors& to_whom, DevicePtr va, Bytes size) {
  const absl::Span<const CUmemAccessDesc> access = to_whom.access();
  const CUresult result = driver->MemSetAccess(va.value, size.value, access.data(), access.size());
  if (result == CUDA_SUCCESS) return absl::OkStatus();
  return DriverError(result, "cuMemSetAccess", RangeText(va, size));
}

Status MapAt(const Driver& driver, const Accessors& to_whom, DevicePtr va, Bytes size,
             CUmemGenericAllocationHandle handle) {
  if (const CUresult r = driver->MemMap(va.value, size.value, 0, handle, 0); r != CUDA_SUCCESS) {
    return DriverError(r, "cuMemMap", RangeText(va, size));
  }
  Status status = GiveAccess(driver, to_whom, va, size);
  if (!status.ok()) {
    // The first failure is the one to tell; an unmap that fails as well leaves a mapping without
    // access, which the next MapAt reports.
    driver.Note(Check(driver->MemUnmap(va.value, size.value), "cuMemUnmap", RangeText(va, size)));
  }
  return status;
}

RemapResult Remap(const Driver& driver, const Accessors& to_whom, DevicePtr va, Bytes size,
                  CUmemGenericAllocationHandle from, CUmemGenericAllocationHandle to) {
  RemapResult result;
  if (const CUresult r = driver->MemUnmap(va.value, size.value); r != CUDA_SUCCESS) {
    result.status = DriverError(r, "cuMemUnmap", RangeText(va, size));
    return result;
  }
  result.status = MapAt(driver, to_whom, va, size, to);
  if (result.status.ok()) {
    result.changed = true;
    return result;
  }
  result.mapped = MapAt(driver, to_whom, va, size, from).ok();
  return result;
}

}  // namespace vramspan
