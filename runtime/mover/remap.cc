#include "runtime/mover/remap.h"

namespace vramspan {

Status SetDeviceAccess(const Driver& driver, int device, DevicePtr va, Bytes size) {
  CUmemAccessDesc access{};
  access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  access.location.id = device;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  const CUresult result = driver->MemSetAccess(va.value, size.value, &access, 1);
  if (result == CUDA_SUCCESS) return absl::OkStatus();
  return DriverError(result, "cuMemSetAccess", RangeText(va, size));
}

Status MapAt(const Driver& driver, int device, DevicePtr va, Bytes size,
             CUmemGenericAllocationHandle handle) {
  if (const CUresult r = driver->MemMap(va.value, size.value, 0, handle, 0); r != CUDA_SUCCESS) {
    return DriverError(r, "cuMemMap", RangeText(va, size));
  }
  Status status = SetDeviceAccess(driver, device, va, size);
  if (!status.ok()) {
    // The first failure is the one to tell; an unmap that fails as well leaves a mapping without
    // access, which the next MapAt reports.
    driver.Note(Check(driver->MemUnmap(va.value, size.value), "cuMemUnmap", RangeText(va, size)));
  }
  return status;
}

RemapResult Remap(const Driver& driver, int device, DevicePtr va, Bytes size,
                  CUmemGenericAllocationHandle from, CUmemGenericAllocationHandle to) {
  RemapResult result;
  if (const CUresult r = driver->MemUnmap(va.value, size.value); r != CUDA_SUCCESS) {
    result.status = DriverError(r, "cuMemUnmap", RangeText(va, size));
    return result;
  }
  result.status = MapAt(driver, device, va, size, to);
  if (result.status.ok()) {
    result.changed = true;
    return result;
  }
  result.mapped = MapAt(driver, device, va, size, from).ok();
  return result;
}

}  // namespace vramspan
