// The driver as a program sees it that knows nothing of vramspan: a table of functions, filled by
// one of the ways in which programs come to them.
#ifndef VRAMSPAN_TESTS_PRELOAD_PROGRAM_API_H_
#define VRAMSPAN_TESTS_PRELOAD_PROGRAM_API_H_

#include <cuda.h>

#include <string>

// X(field, base name, exported name, CUDA version of that ABI, per-thread suffix)
#define PROGRAM_CALLS(X)                                                                           \
  X(Init, cuInit, cuInit, 2000, )                                                                  \
  X(DeviceGet, cuDeviceGet, cuDeviceGet, 2000, )                                                   \
  X(DeviceGetCount, cuDeviceGetCount, cuDeviceGetCount, 2000, )                                    \
  X(CtxCreate, cuCtxCreate, cuCtxCreate_v4, 12050, )                                               \
  X(CtxDestroy, cuCtxDestroy, cuCtxDestroy_v2, 4000, )                                             \
  X(CtxSetCurrent, cuCtxSetCurrent, cuCtxSetCurrent, 4000, )                                       \
  X(CtxGetCurrent, cuCtxGetCurrent, cuCtxGetCurrent, 4000, )                                       \
  X(CtxSynchronize, cuCtxSynchronize, cuCtxSynchronize, 2000, )                                    \
  X(PrimaryRetain, cuDevicePrimaryCtxRetain, cuDevicePrimaryCtxRetain, 7000, )                     \
  X(PrimaryRelease, cuDevicePrimaryCtxRelease, cuDevicePrimaryCtxRelease_v2, 11000, )              \
  X(PrimaryReset, cuDevicePrimaryCtxReset, cuDevicePrimaryCtxReset_v2, 11000, )                    \
  X(MemGetInfo, cuMemGetInfo, cuMemGetInfo_v2, 3020, )                                             \
  X(MemAlloc, cuMemAlloc, cuMemAlloc_v2, 3020, )                                                   \
  X(MemAllocPitch, cuMemAllocPitch, cuMemAllocPitch_v2, 3020, )                                    \
  X(MemFree, cuMemFree, cuMemFree_v2, 3020, )                                                      \
  X(MemAllocManaged, cuMemAllocManaged, cuMemAllocManaged, 6000, )                                 \
  X(MemHostAlloc, cuMemHostAlloc, cuMemHostAlloc, 2020, )                                          \
  X(MemFreeHost, cuMemFreeHost, cuMemFreeHost, 2000, )                                             \
  X(MemCreate, cuMemCreate, cuMemCreate, 10020, )                                                  \
  X(MemRelease, cuMemRelease, cuMemRelease, 10020, )                                               \
  X(MemAddressReserve, cuMemAddressReserve, cuMemAddressReserve, 10020, )                          \
  X(MemAddressFree, cuMemAddressFree, cuMemAddressFree, 10020, )                                   \
  X(MemMap, cuMemMap, cuMemMap, 10020, )                                                           \
  X(MemUnmap, cuMemUnmap, cuMemUnmap, 10020, )                                                     \
  X(MemSetAccess, cuMemSetAccess, cuMemSetAccess, 10020, )                                         \
  X(MemGetAccess, cuMemGetAccess, cuMemGetAccess, 10020, )                                         \
  X(MemRetain, cuMemRetainAllocationHandle, cuMemRetainAllocationHandle, 11000, )                  \
  X(MemProperties, cuMemGetAllocationPropertiesFromHandle, cuMemGetAllocationPropertiesFromHandle, \
    10020, )                                                                                       \
  X(MemExport, cuMemExportToShareableHandle, cuMemExportToShareableHandle, 10020, )                \
  X(MemImport, cuMemImportFromShareableHandle, cuMemImportFromShareableHandle, 10020, )            \
  X(GetRangeHandle, cuMemGetHandleForAddressRange, cuMemGetHandleForAddressRange, 11070, )         \
  X(GetAddressRange, cuMemGetAddressRange, cuMemGetAddressRange_v2, 3020, )                        \
  X(PointerGetAttribute, cuPointerGetAttribute, cuPointerGetAttribute, 4000, )                     \
  X(IpcGetMemHandle, cuIpcGetMemHandle, cuIpcGetMemHandle, 4010, )                                 \
  X(IpcOpenMemHandle, cuIpcOpenMemHandle, cuIpcOpenMemHandle_v2, 11000, )                          \
  X(IpcCloseMemHandle, cuIpcCloseMemHandle, cuIpcCloseMemHandle, 4010, )                           \
  X(ModuleLoadData, cuModuleLoadData, cuModuleLoadData, 2000, )                                    \
  X(ModuleGetFunction, cuModuleGetFunction, cuModuleGetFunction, 2000, )                           \
  X(StreamCreate, cuStreamCreate, cuStreamCreate, 2000, )                                          \
  X(StreamDestroy, cuStreamDestroy, cuStreamDestroy_v2, 4000, )                                    \
  X(StreamSynchronize, cuStreamSynchronize, cuStreamSynchronize, 2000, _ptsz)                      \
  X(MemcpyHtoD, cuMemcpyHtoD, cuMemcpyHtoD_v2, 3020, _ptds)                                        \
  X(MemcpyDtoH, cuMemcpyDtoH, cuMemcpyDtoH_v2, 3020, _ptds)                                        \
  X(MemcpyDtoHAsync, cuMemcpyDtoHAsync, cuMemcpyDtoHAsync_v2, 3020, _ptsz)                         \
  X(MemsetD8, cuMemsetD8, cuMemsetD8_v2, 3020, _ptds)                                              \
  X(LaunchKernel, cuLaunchKernel, cuLaunchKernel, 4000, _ptsz)

struct Api {
#define X(field, base, symbol, version, suffix) decltype(&::symbol) field = nullptr;
  PROGRAM_CALLS(X)
#undef X
};

// Fills the table: "linked" (by the loader), "dlsym", "default" (dlsym in the global
// scope), "proc1" and "proc2" (cuGetProcAddress by its older and its newer ABI), each with "_pt"
// behind it for per-thread default streams. Ends the process with a line where that fails.
Api OpenApi(const std::string& route);

#endif  // VRAMSPAN_TESTS_PRELOAD_PROGRAM_API_H_
