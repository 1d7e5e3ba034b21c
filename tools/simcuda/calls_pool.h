#ifndef VRAMSPAN_TOOLS_SIMCUDA_CALLS_POOL_H_
#define VRAMSPAN_TOOLS_SIMCUDA_CALLS_POOL_H_

// Memory pools and stream ordered allocation: functions behind rows of entries_core.inc.

#include <cuda.h>

namespace simcuda::calls {

CUresult MemPoolCreate(CUmemoryPool* pool, const CUmemPoolProps* props);
CUresult MemPoolDestroy(CUmemoryPool pool);
CUresult MemPoolTrimTo(CUmemoryPool pool, size_t keep);
CUresult MemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void* value);
CUresult MemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void* value);
CUresult MemPoolSetAccess(CUmemoryPool pool, const CUmemAccessDesc* descs, size_t count);
CUresult MemPoolGetAccess(CUmemAccess_flags* flags, CUmemoryPool pool, CUmemLocation* location);
CUresult DeviceGetDefaultMemPool(CUmemoryPool* pool, CUdevice device);
CUresult DeviceGetMemPool(CUmemoryPool* pool, CUdevice device);
CUresult DeviceSetMemPool(CUdevice device, CUmemoryPool pool);
CUresult MemGetDefaultMemPool(CUmemoryPool* pool, CUmemLocation* location,
                              CUmemAllocationType type);
CUresult MemGetMemPool(CUmemoryPool* pool, CUmemLocation* location, CUmemAllocationType type);
CUresult MemSetMemPool(CUmemLocation* location, CUmemAllocationType type, CUmemoryPool pool);

CUresult MemAllocAsync(CUdeviceptr* address, size_t size, CUstream stream);
CUresult MemAllocFromPoolAsync(CUdeviceptr* address, size_t size, CUmemoryPool pool,
                               CUstream stream);
CUresult MemFreeAsync(CUdeviceptr address, CUstream stream);

}  // namespace simcuda::calls

#endif  // VRAMSPAN_TOOLS_SIMCUDA_CALLS_POOL_H_
