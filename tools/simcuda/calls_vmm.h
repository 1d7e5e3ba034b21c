#ifndef VRAMSPAN_TOOLS_SIMCUDA_CALLS_VMM_H_
#define VRAMSPAN_TOOLS_SIMCUDA_CALLS_VMM_H_

// Virtual memory management: functions behind rows of entries_core.inc.

#include <cuda.h>

namespace simcuda::calls {

CUresult MemAddressReserve(CUdeviceptr* address, size_t size, size_t alignment, CUdeviceptr wanted,
                           unsigned long long flags);
CUresult MemAddressFree(CUdeviceptr address, size_t size);
CUresult MemCreate(CUmemGenericAllocationHandle* handle, size_t size,
                   const CUmemAllocationProp* prop, unsigned long long flags);
CUresult MemRelease(CUmemGenericAllocationHandle handle);
CUresult MemMap(CUdeviceptr address, size_t size, size_t offset,
                CUmemGenericAllocationHandle handle, unsigned long long flags);
CUresult MemUnmap(CUdeviceptr address, size_t size);
CUresult MemSetAccess(CUdeviceptr address, size_t size, const CUmemAccessDesc* descs, size_t count);
CUresult MemGetAccess(unsigned long long* flags, const CUmemLocation* location,
                      CUdeviceptr address);
CUresult MemExportToShareableHandle(void* shareable, CUmemGenericAllocationHandle handle,
                                    CUmemAllocationHandleType type, unsigned long long flags);
CUresult MemImportFromShareableHandle(CUmemGenericAllocationHandle* handle, void* shareable,
                                      CUmemAllocationHandleType type);
CUresult MemGetAllocationGranularity(size_t* granularity, const CUmemAllocationProp* prop,
                                     CUmemAllocationGranularity_flags option);
CUresult MemGetAllocationPropertiesFromHandle(CUmemAllocationProp* prop,
                                              CUmemGenericAllocationHandle handle);
CUresult MemRetainAllocationHandle(CUmemGenericAllocationHandle* handle, void* address);

}  // namespace simcuda::calls

#endif  // VRAMSPAN_TOOLS_SIMCUDA_CALLS_VMM_H_
