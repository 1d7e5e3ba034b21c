#include "runtime/memory/remap.h"

#include <algorithm>

namespace vramspan {
namespace {

bool AddTo(absl::InlinedVector<CUmemAccessDesc, 1>& all, int device) {
  const auto same = [device](const CUmemAccessDesc& a) { return a.location.id == device; };
  if (std::any_of(all.begin(), all.end(), same)) return false;
  CUmemAccessDesc access{};
  access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  access.location.id = device;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  all.push_back(access);
  return true;
}

}  // namespace

bool Accessors::Add(int device) {
  if (!AddTo(access_, device)) return false;
  ++changes_;
  return true;
}

bool Accessors::AddWherePossible(int device) {
  if (!AddTo(where_possible_, device)) return false;
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
  if (result != CUDA_SUCCESS) {
    return DriverError(result, "cuMemSetAccess", RangeText(va, size));
  }
  for (const CUmemAccessDesc& one : to_whom.where_possible()) {
    // Refused for what lies on a device that the other does not reach, as is expected.
    static_cast<void>(driver->MemSetAccess(va.value, size.value, &one, 1));
  }
  return absl::OkStatus();
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
    driver.RecordBackgroundError(
        Check(driver->MemUnmap(va.value, size.value), "cuMemUnmap", RangeText(va, size)));
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
