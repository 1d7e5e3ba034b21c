#ifndef VRAMSPAN_TOOLS_SIMCUDA_CALLS_MEMORY_H_
#define VRAMSPAN_TOOLS_SIMCUDA_CALLS_MEMORY_H_

// Plain allocations and questions about pointers: functions behind rows of entries_core.inc.

#include <cuda.h>

#include <initializer_list>

#include "tools/simcuda/memory/address_map.h"

namespace simcuda::calls {

// Frees what starts at the address, if it is of one of the kinds; afterwards nothing finds it any
// more. Waits for all work of its context first and holds up its submissions meanwhile, as
// cuMemFree and cuMemFreeHost do.
CUresult FreeRangeAt(CUdeviceptr address, std::initializer_list<memory::RangeKind> kinds);

CUresult MemGetInfo(size_t* free, size_t* total);
CUresult MemAlloc(CUdeviceptr* address, size_t size);
CUresult MemAllocPitch(CUdeviceptr* address, size_t* pitch, size_t width, size_t height,
                       unsigned element_size);
CUresult MemFree(CUdeviceptr address);
CUresult MemAllocManaged(CUdeviceptr* address, size_t size, unsigned flags);

CUresult MemAllocHost(void** address, size_t size);
CUresult MemHostAlloc(void** address, size_t size, unsigned flags);
CUresult MemFreeHost(void* address);
CUresult MemHostGetDevicePointer(CUdeviceptr* device_address, void* address, unsigned flags);
CUresult MemHostGetFlags(unsigned* flags, void* address);
CUresult MemHostRegister(void* address, size_t size, unsigned flags);
CUresult MemHostUnregister(void* address);

CUresult MemGetAddressRange(CUdeviceptr* base, size_t* size, CUdeviceptr address);
CUresult PointerGetAttribute(void* data, CUpointer_attribute attribute, CUdeviceptr address);
CUresult PointerGetAttributes(unsigned count, CUpointer_attribute* attributes, void** data,
                              CUdeviceptr address);
CUresult PointerSetAttribute(const void* value, CUpointer_attribute attribute, CUdeviceptr address);

CUresult MemAdviseV1(CUdeviceptr address, size_t size, CUmem_advise advice, CUdevice device);
CUresult MemAdviseV2(CUdeviceptr address, size_t size, CUmem_advise advice, CUmemLocation location);
CUresult MemPrefetchAsyncV1(CUdeviceptr address, size_t size, CUdevice device, CUstream stream);
CUresult MemPrefetchAsyncV2(CUdeviceptr address, size_t size, CUmemLocation location,
                            unsigned flags, CUstream stream);
CUresult MemRangeGetAttribute(void* data, size_t data_size, CUmem_range_attribute attribute,
                              CUdeviceptr address, size_t size);
CUresult MemGetHandleForAddressRange(void* handle, CUdeviceptr address, size_t size,
                                     CUmemRangeHandleType type, unsigned long long flags);

CUresult IpcGetMemHandle(CUipcMemHandle* handle, CUdeviceptr address);
CUresult IpcOpenMemHandle(CUdeviceptr* address, CUipcMemHandle handle, unsigned flags);
CUresult IpcCloseMemHandle(CUdeviceptr address);
CUresult IpcGetEventHandle(CUipcEventHandle* handle, CUevent event);
CUresult IpcOpenEventHandle(CUevent* event, CUipcEventHandle handle);

}  // namespace simcuda::calls

#endif  // VRAMSPAN_TOOLS_SIMCUDA_CALLS_MEMORY_H_
