#include "tools/simcuda/memory/reach.h"

#include <cstdio>
#include <cstdlib>

#include "tools/simcuda/device.h"
#include "tools/simcuda/driver.h"
#include "tools/simcuda/memory/address_map.h"
#include "tools/simcuda/memory/mem_pool.h"
#include "tools/simcuda/memory/vmm.h"

namespace simcuda::memory {
namespace {

// With one device everything is its own.
const Device* DeviceOf(const Context* by) {
  return by == nullptr || Driver::Get().device_count() == 1 ? nullptr : &by->device();
}

// Whose device memory it is; null for what is on the host.
const Device* OwnerOf(CUdeviceptr address) {
  const RangePtr range = AddressMap::Get().Find(address);
  if (!range) return nullptr;
  if (range->kind != RangeKind::kReservation) return range->device;
  Vmm::Mapped mapped;
  if (!Vmm::Get().Find(address, &mapped) || mapped.location.type != CU_MEM_LOCATION_TYPE_DEVICE) {
    return nullptr;
  }
  return Driver::Get().device(mapped.location.id);
}

}  // namespace

CUresult CheckCopyReach(const Context* by, CUdeviceptr address, size_t extent) {
  const RangePtr range = AddressMap::Get().Find(address);
  const Device* const device = DeviceOf(by);
  if (range && range->kind == RangeKind::kPool && device != nullptr) {
    return range->pool->Reaches(*device) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  }
  if (!range || range->kind != RangeKind::kReservation) return CUDA_SUCCESS;
  return Vmm::Get().Accessible(address, extent, device) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

void CrashAsTheDriver(const Context* by, CUdeviceptr address, size_t extent,
                      CUdeviceptr other_end) {
  if (DeviceOf(by) == nullptr) return;
  const RangePtr range = AddressMap::Get().Find(address);
  if (!range || range->kind != RangeKind::kReservation) return;
  const Device* const concerned[] = {&by->device(), OwnerOf(other_end)};
  for (const Device* const device : concerned) {
    if (device == nullptr || !Vmm::Get().HidesHostMemory(address, extent, *device)) continue;
    std::fprintf(stderr,
                 "simcuda: a copy of mapped host memory at 0x%llx that device %d has no access to: "
                 "the real driver crashes here\n",
                 address, device->ordinal());
    std::abort();
  }
}

bool KernelReaches(const Context& by, CUdeviceptr address) {
  const Device* const device = DeviceOf(&by);
  if (device == nullptr) return true;
  const RangePtr range = AddressMap::Get().Find(address);
  if (!range) return true;
  switch (range->kind) {
    case RangeKind::kReservation: {
      Vmm::Mapped mapped;
      return !Vmm::Get().Find(address, &mapped) || Vmm::Get().Accessible(address, 1, device);
    }
    case RangeKind::kPool:
      return range->pool->Reaches(*device);
    case RangeKind::kDevice:
    case RangeKind::kModule:
    case RangeKind::kExternal:
      return range->device == device || range->device == nullptr || by.Reaches(range->context_id);
    default:
      return true;
  }
}

}  // namespace simcuda::memory
