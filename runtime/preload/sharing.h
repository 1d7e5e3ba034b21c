// The hook by which memory of ours is to leave the process for other devices. A dma-buf names the
// pages themselves: they are fetched to the device first and stay there for good. Other processes
// get theirs by ipc.h and vmm.h.
#ifndef VRAMSPAN_RUNTIME_PRELOAD_SHARING_H_
#define VRAMSPAN_RUNTIME_PRELOAD_SHARING_H_

#include "runtime/preload/cuda_api.h"

namespace vramspan::preload {

CUresult MemGetHandleForAddressRange(decltype(&::cuMemGetHandleForAddressRange) real, void* handle,
                                     CUdeviceptr p, size_t size, CUmemRangeHandleType type,
                                     unsigned long long flags);

}  // namespace vramspan::preload

#endif  // VRAMSPAN_RUNTIME_PRELOAD_SHARING_H_
