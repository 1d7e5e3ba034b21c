// How much memory there is.
#include "runtime/base/own_calls.h"
#include "runtime/preload/capacity.h"
#include "runtime/preload/process.h"
#include "runtime/preload/queries.h"
#include "runtime/preload/resolver.h"
#include "runtime/preload/runtimes.h"

namespace vramspan::preload {

CUresult MemGetInfo(decltype(&::cuMemGetInfo_v2) real, size_t* free, size_t* total) {
  if (!Ready()) return real(free, total);
  // Budgets and a tenant's limit are a runtime's; the device itself is there without one.
  const bool needs_runtime = !ReportsDevice() || BrokerMayBe();
  if (needs_runtime && RuntimeForAllocation() == nullptr) return real(free, total);
  const OwnCalls own;
  const auto get_device = DriverFunction<decltype(&::cuCtxGetDevice)>("cuCtxGetDevice");
  CUdevice device = -1;
  if (get_device == nullptr || get_device(&device) != CUDA_SUCCESS) return real(free, total);
  CUresult result = CUDA_SUCCESS;
  const auto ask = [&](Capacity* said) {
    size_t f = 0, t = 0;
    result = real(&f, &t);
    *said = {f, t};
    return result == CUDA_SUCCESS;
  };
  Capacity capacity;
  if (!ReportedCapacity(device, ask, &capacity)) return result;
  if (free != nullptr) *free = capacity.free;
  if (total != nullptr) *total = capacity.total;
  return CUDA_SUCCESS;
}

CUresult DeviceTotalMem(decltype(&::cuDeviceTotalMem_v2) real, size_t* total, CUdevice device) {
  const CUresult result = real(total, device);
  if (result == CUDA_SUCCESS && Ready()) *total = ReportedTotal(device, *total);
  return result;
}

}  // namespace vramspan::preload
