// Hooks of what programs ask about memory: how much there is (capacity.h), and what a pointer of
// ours is. The answers are those for plain device memory, wherever its chunks are: what every such
// pointer has in common the driver itself says, of a piece of its own memory in the same context.
#ifndef VRAMSPAN_RUNTIME_PRELOAD_QUERIES_H_
#define VRAMSPAN_RUNTIME_PRELOAD_QUERIES_H_

#include "runtime/preload/cuda_api.h"

namespace vramspan::preload {

CUresult MemGetInfo(decltype(&::cuMemGetInfo_v2) real, size_t* free, size_t* total);
CUresult DeviceTotalMem(decltype(&::cuDeviceTotalMem_v2) real, size_t* total, CUdevice device);

CUresult MemGetAddressRange(decltype(&::cuMemGetAddressRange_v2) real, CUdeviceptr* base,
                            size_t* size, CUdeviceptr p);
CUresult PointerGetAttribute(decltype(&::cuPointerGetAttribute) real, void* data,
                             CUpointer_attribute attribute, CUdeviceptr p);
CUresult PointerGetAttributes(decltype(&::cuPointerGetAttributes) real, unsigned count,
                              CUpointer_attribute* attributes, void** data, CUdeviceptr p);
CUresult PointerSetAttribute(decltype(&::cuPointerSetAttribute) real, const void* value,
                             CUpointer_attribute attribute, CUdeviceptr p);

}  // namespace vramspan::preload

#endif  // VRAMSPAN_RUNTIME_PRELOAD_QUERIES_H_
