#include "tools/simcuda/calls_vmm.h"

#include <cstdint>

#include "tools/simcuda/driver.h"
#include "tools/simcuda/memory/pages.h"
#include "tools/simcuda/memory/vmm.h"

namespace simcuda::calls {

using memory::Vmm;

namespace {

bool Known(unsigned long long flags) {
  return flags == 0 || (flags == kNewerFlag && Driver::Get().config().newer);
}

}  // namespace

CUresult MemAddressReserve(CUdeviceptr* address, size_t size, size_t alignment, CUdeviceptr wanted,
                           unsigned long long flags) {
  if (address == nullptr || !Known(flags)) return CUDA_ERROR_INVALID_VALUE;
  return Vmm::Get().Reserve(size, alignment, wanted, address);
}

CUresult MemAddressFree(CUdeviceptr address, size_t size) {
  return Vmm::Get().FreeReservation(address, size);
}

CUresult MemCreate(CUmemGenericAllocationHandle* handle, size_t size,
                   const CUmemAllocationProp* prop, unsigned long long flags) {
  if (handle == nullptr || prop == nullptr || !Known(flags)) return CUDA_ERROR_INVALID_VALUE;
  return Vmm::Get().Create(size, *prop, handle);
}

CUresult MemRelease(CUmemGenericAllocationHandle handle) { return Vmm::Get().Release(handle); }

CUresult MemMap(CUdeviceptr address, size_t size, size_t offset,
                CUmemGenericAllocationHandle handle, unsigned long long flags) {
  if (!Known(flags)) return CUDA_ERROR_INVALID_VALUE;
  return Vmm::Get().Map(address, size, offset, handle);
}

CUresult MemUnmap(CUdeviceptr address, size_t size) { return Vmm::Get().Unmap(address, size); }

CUresult MemSetAccess(CUdeviceptr address, size_t size, const CUmemAccessDesc* descs,
                      size_t count) {
  if (descs == nullptr || count == 0) return CUDA_ERROR_INVALID_VALUE;
  return Vmm::Get().SetAccess(address, size, descs, count);
}

CUresult MemGetAccess(unsigned long long* flags, const CUmemLocation* location,
                      CUdeviceptr address) {
  if (flags == nullptr || location == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return Vmm::Get().GetAccess(address, *location, flags);
}

CUresult MemExportToShareableHandle(void* shareable, CUmemGenericAllocationHandle handle,
                                    CUmemAllocationHandleType type, unsigned long long flags) {
  if (shareable == nullptr || !Known(flags)) return CUDA_ERROR_INVALID_VALUE;
  // What was not asked for when the memory was made cannot be had.
  if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) return CUDA_ERROR_INVALID_VALUE;
  return Vmm::Get().Export(handle, static_cast<int*>(shareable));
}

CUresult MemImportFromShareableHandle(CUmemGenericAllocationHandle* handle, void* shareable,
                                      CUmemAllocationHandleType type) {
  if (handle == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) return CUDA_ERROR_NOT_SUPPORTED;
  // The descriptor itself travels in the pointer.
  return Vmm::Get().Import(static_cast<int>(reinterpret_cast<intptr_t>(shareable)), handle);
}

CUresult MemGetAllocationGranularity(size_t* granularity, const CUmemAllocationProp* prop,
                                     CUmemAllocationGranularity_flags option) {
  if (granularity == nullptr || prop == nullptr ||
      (option != CU_MEM_ALLOC_GRANULARITY_MINIMUM &&
       option != CU_MEM_ALLOC_GRANULARITY_RECOMMENDED)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (const CUresult r = memory::CheckAllocationProp(*prop); r != CUDA_SUCCESS) return r;
  *granularity = memory::kGranularity;
  return CUDA_SUCCESS;
}

CUresult MemGetAllocationPropertiesFromHandle(CUmemAllocationProp* prop,
                                              CUmemGenericAllocationHandle handle) {
  if (prop == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return Vmm::Get().Properties(handle, prop);
}

CUresult MemRetainAllocationHandle(CUmemGenericAllocationHandle* handle, void* address) {
  if (handle == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return Vmm::Get().Retain(reinterpret_cast<CUdeviceptr>(address), handle);
}

}  // namespace simcuda::calls
