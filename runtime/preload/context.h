// Hooks of what ends a context: the runtime that belongs to it ends first.
#ifndef VRAMSPAN_RUNTIME_PRELOAD_CONTEXT_H_
#define VRAMSPAN_RUNTIME_PRELOAD_CONTEXT_H_

#include "runtime/preload/cuda_api.h"

namespace vramspan::preload {

CUresult CtxDestroyV1(decltype(&::cuCtxDestroy) real, CUcontext context);
CUresult CtxDestroy(decltype(&::cuCtxDestroy_v2) real, CUcontext context);
// The program's retains and releases of a primary context are counted: with the last it ends.
CUresult DevicePrimaryCtxRetain(decltype(&::cuDevicePrimaryCtxRetain) real, CUcontext* context,
                                CUdevice device);
CUresult DevicePrimaryCtxReleaseV1(decltype(&::cuDevicePrimaryCtxRelease) real, CUdevice device);
CUresult DevicePrimaryCtxRelease(decltype(&::cuDevicePrimaryCtxRelease_v2) real, CUdevice device);
CUresult DevicePrimaryCtxResetV1(decltype(&::cuDevicePrimaryCtxReset) real, CUdevice device);
CUresult DevicePrimaryCtxReset(decltype(&::cuDevicePrimaryCtxReset_v2) real, CUdevice device);

}  // namespace vramspan::preload

#endif  // VRAMSPAN_RUNTIME_PRELOAD_CONTEXT_H_
