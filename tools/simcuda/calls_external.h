#ifndef VRAMSPAN_TOOLS_SIMCUDA_CALLS_EXTERNAL_H_
#define VRAMSPAN_TOOLS_SIMCUDA_CALLS_EXTERNAL_H_

// Memory of others: functions behind rows of entries_core.inc.

#include <cuda.h>

namespace simcuda::calls {

// CUDA_ERROR_NOT_SUPPORTED for all but opaque file descriptors, and for host memory. The descriptor
// is the driver's once it succeeds.
CUresult ImportExternalMemory(CUexternalMemory* memory,
                              const CUDA_EXTERNAL_MEMORY_HANDLE_DESC* descriptor);
CUresult ExternalMemoryGetMappedBuffer(CUdeviceptr* address, CUexternalMemory memory,
                                       const CUDA_EXTERNAL_MEMORY_BUFFER_DESC* descriptor);
// Buffers keep the memory until they are freed.
CUresult DestroyExternalMemory(CUexternalMemory memory);

}  // namespace simcuda::calls

#endif  // VRAMSPAN_TOOLS_SIMCUDA_CALLS_EXTERNAL_H_
