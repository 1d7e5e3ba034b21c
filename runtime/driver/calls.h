// Every driver function that the runtime calls, with the ABI name that is looked up and the CUDA
// version whose meaning of it we rely on, CUDA 12.5 or before. The one list from which the table is
// made, resolved, and fault-injected: a call that is not here cannot be made.
#ifndef VRAMSPAN_RUNTIME_DRIVER_CALLS_H_
#define VRAMSPAN_RUNTIME_DRIVER_CALLS_H_

// X(field, exported symbol). Fields are the names a reader knows from cuda.h's documentation.
#define VRAMSPAN_DRIVER_CALLS(X)                                        \
  X(Init, cuInit)                                                       \
  X(DriverGetVersion, cuDriverGetVersion)                               \
  X(DeviceGet, cuDeviceGet)                                             \
  X(DeviceGetCount, cuDeviceGetCount)                                   \
  X(DeviceGetName, cuDeviceGetName)                                     \
  X(DeviceGetUuid, cuDeviceGetUuid_v2)                                  \
  X(DeviceGetAttribute, cuDeviceGetAttribute)                           \
  X(DeviceTotalMem, cuDeviceTotalMem_v2)                                \
  X(DevicePrimaryCtxRetain, cuDevicePrimaryCtxRetain)                   \
  X(DevicePrimaryCtxRelease, cuDevicePrimaryCtxRelease_v2)              \
  X(CtxCreate, cuCtxCreate_v4)                                          \
  X(CtxDestroy, cuCtxDestroy_v2)                                        \
  X(CtxGetCurrent, cuCtxGetCurrent)                                     \
  X(CtxSetCurrent, cuCtxSetCurrent)                                     \
  X(CtxPushCurrent, cuCtxPushCurrent_v2)                                \
  X(CtxPopCurrent, cuCtxPopCurrent_v2)                                  \
  X(CtxGetDevice, cuCtxGetDevice)                                       \
  X(CtxSynchronize, cuCtxSynchronize)                                   \
  X(ThreadExchangeStreamCaptureMode, cuThreadExchangeStreamCaptureMode) \
  X(MemGetInfo, cuMemGetInfo_v2)                                        \
  X(MemAlloc, cuMemAlloc_v2)                                            \
  X(MemFree, cuMemFree_v2)                                              \
  X(MemHostAlloc, cuMemHostAlloc)                                       \
  X(MemHostGetDevicePointer, cuMemHostGetDevicePointer_v2)              \
  X(MemFreeHost, cuMemFreeHost)                                         \
  X(MemGetAllocationGranularity, cuMemGetAllocationGranularity)         \
  X(MemAddressReserve, cuMemAddressReserve)                             \
  X(MemAddressFree, cuMemAddressFree)                                   \
  X(MemCreate, cuMemCreate)                                             \
  X(MemRelease, cuMemRelease)                                           \
  X(MemMap, cuMemMap)                                                   \
  X(MemUnmap, cuMemUnmap)                                               \
  X(MemSetAccess, cuMemSetAccess)                                       \
  X(MemcpyAsync, cuMemcpyAsync)                                         \
  X(MemcpyDtoDAsync, cuMemcpyDtoDAsync_v2)                              \
  X(MemcpyHtoDAsync, cuMemcpyHtoDAsync_v2)                              \
  X(MemcpyDtoHAsync, cuMemcpyDtoHAsync_v2)                              \
  X(MemsetD8Async, cuMemsetD8Async)                                     \
  X(StreamCreate, cuStreamCreate)                                       \
  X(StreamDestroy, cuStreamDestroy_v2)                                  \
  X(StreamQuery, cuStreamQuery)                                         \
  X(StreamSynchronize, cuStreamSynchronize)                             \
  X(StreamIsCapturing, cuStreamIsCapturing)                             \
  X(StreamWaitEvent, cuStreamWaitEvent)                                 \
  X(StreamWaitValue32, cuStreamWaitValue32_v2)                          \
  X(StreamWriteValue32, cuStreamWriteValue32_v2)                        \
  X(EventCreate, cuEventCreate)                                         \
  X(EventDestroy, cuEventDestroy_v2)                                    \
  X(EventRecord, cuEventRecord)                                         \
  X(EventQuery, cuEventQuery)                                           \
  X(EventSynchronize, cuEventSynchronize)                               \
  X(EventElapsedTime, cuEventElapsedTime)                               \
  X(ModuleLoadData, cuModuleLoadData)                                   \
  X(ModuleUnload, cuModuleUnload)                                       \
  X(ModuleGetFunction, cuModuleGetFunction)                             \
  X(KernelGetName, cuKernelGetName)                                     \
  X(KernelGetLibrary, cuKernelGetLibrary)                               \
  X(KernelGetFunction, cuKernelGetFunction)                             \
  X(FuncGetModule, cuFuncGetModule)                                     \
  X(FuncGetName, cuFuncGetName)                                         \
  X(KernelGetParamInfo, cuKernelGetParamInfo)                           \
  X(FuncGetParamInfo, cuFuncGetParamInfo)                               \
  X(GraphGetNodes, cuGraphGetNodes)                                     \
  X(GraphNodeGetType, cuGraphNodeGetType)                               \
  X(GraphKernelNodeGetParams, cuGraphKernelNodeGetParams_v2)            \
  X(GraphKernelNodeGetAttribute, cuGraphKernelNodeGetAttribute)         \
  X(GraphMemcpyNodeGetParams, cuGraphMemcpyNodeGetParams)               \
  X(GraphMemsetNodeGetParams, cuGraphMemsetNodeGetParams)               \
  X(GraphBatchMemOpNodeGetParams, cuGraphBatchMemOpNodeGetParams)       \
  X(GraphChildGraphNodeGetGraph, cuGraphChildGraphNodeGetGraph)         \
  X(LaunchKernel, cuLaunchKernel)

#endif  // VRAMSPAN_RUNTIME_DRIVER_CALLS_H_
