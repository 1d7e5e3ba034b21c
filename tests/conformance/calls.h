// The driver's functions that the rules speak of and the runtime's own table does not have.
#ifndef VRAMSPAN_TESTS_CONFORMANCE_CALLS_H_
#define VRAMSPAN_TESTS_CONFORMANCE_CALLS_H_

#include <cuda.h>

// X(field, exported symbol), as in runtime/driver/calls.h.
#define VRAMSPAN_CONFORMANCE_CALLS(X)                             \
  X(GetErrorName, cuGetErrorName)                                 \
  X(MemGetAccess, cuMemGetAccess)                                 \
  X(MemExportToShareableHandle, cuMemExportToShareableHandle)     \
  X(MemImportFromShareableHandle, cuMemImportFromShareableHandle) \
  X(MemGetAddressRange, cuMemGetAddressRange_v2)                  \
  X(PointerGetAttribute, cuPointerGetAttribute)                   \
  X(IpcOpenMemHandle, cuIpcOpenMemHandle_v2)                      \
  X(Memcpy, cuMemcpy)                                             \
  X(MemcpyHtoD, cuMemcpyHtoD_v2)                                  \
  X(MemcpyDtoH, cuMemcpyDtoH_v2)                                  \
  X(MemcpyDtoD, cuMemcpyDtoD_v2)                                  \
  X(MemsetD8, cuMemsetD8_v2)                                      \
  X(MemsetD32, cuMemsetD32_v2)                                    \
  X(MemsetD2D8, cuMemsetD2D8_v2)                                  \
  X(MemAllocAsync, cuMemAllocAsync)                               \
  X(MemFreeAsync, cuMemFreeAsync)                                 \
  X(StreamBeginCapture, cuStreamBeginCapture_v2)                  \
  X(StreamEndCapture, cuStreamEndCapture)                         \
  X(GraphInstantiate, cuGraphInstantiateWithFlags)                \
  X(GraphLaunch, cuGraphLaunch)                                   \
  X(GraphExecDestroy, cuGraphExecDestroy)                         \
  X(GraphDestroy, cuGraphDestroy)                                 \
  X(LibraryLoadData, cuLibraryLoadData)                           \
  X(LibraryUnload, cuLibraryUnload)                               \
  X(LibraryGetKernel, cuLibraryGetKernel)

#endif  // VRAMSPAN_TESTS_CONFORMANCE_CALLS_H_
