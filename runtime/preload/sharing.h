// Hooks by which memory of ours is to leave the process.
//
// A legacy IPC handle stands for an allocation of the driver's own; ours has none, and the error
// says so in the driver's words, once in ours. A dma-buf names the pages themselves: they are
// fetched to the device first and stay there for good.
#ifndef VRAMSPAN_RUNTIME_PRELOAD_SHARING_H_
#define VRAMSPAN_RUNTIME_PRELOAD_SHARING_H_

#include "runtime/preload/cuda_api.h"

namespace vramspan::preload {

CUresult IpcGetMemHandle(decltype(&::cuIpcGetMemHandle) real, CUipcMemHandle* handle,
                         CUdeviceptr p);
CUresult MemGetHandleForAddressRange(decltype(&::cuMemGetHandleForAddressRange) real, void* handle,
                                     CUdeviceptr p, size_t size, CUmemRangeHandleType type,
                                     unsigned long long flags);

}  // namespace vramspan::preload

#endif  // VRAMSPAN_RUNTIME_PRELOAD_SHARING_H_
