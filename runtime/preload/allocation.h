// Hooks of plain device memory: what cuMemAlloc and cuMemAllocPitch hand out is a runtime's.
//
// As with the driver's own functions: out-parameters are written on success alone, arguments that
// the driver refuses are left to it, and cuMemFree waits for the context's work.
#ifndef VRAMSPAN_RUNTIME_PRELOAD_ALLOCATION_H_
#define VRAMSPAN_RUNTIME_PRELOAD_ALLOCATION_H_

#include "runtime/preload/cuda_api.h"

namespace vramspan::preload {

CUresult MemAlloc(decltype(&::cuMemAlloc_v2) real, CUdeviceptr* p, size_t size);
CUresult MemAllocPitch(decltype(&::cuMemAllocPitch_v2) real, CUdeviceptr* p, size_t* pitch,
                       size_t width, size_t height, unsigned element);
CUresult MemFree(decltype(&::cuMemFree_v2) real, CUdeviceptr p);

}  // namespace vramspan::preload

#endif  // VRAMSPAN_RUNTIME_PRELOAD_ALLOCATION_H_
