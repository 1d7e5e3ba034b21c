#ifndef VRAMSPAN_TOOLS_SIMCUDA_MEMORY_REACH_H_
#define VRAMSPAN_TOOLS_SIMCUDA_MEMORY_REACH_H_

// What work of a context may touch of other devices' memory. Thread-safe.
//  - Mappings (cuMemMap) and pools: what their rights name the device for. Peer access between
//    contexts gives nothing there.
//  - Other device memory: a kernel, what is of a context that this one was given access to
//    (cuCtxEnablePeerAccess), and so a fill; a copy, everything, for the real driver stages it.
// That cuMemcpyAsync is refused for mappings that do not name the device was seen on two H200s; for
// pools PyTorch's allocator says so. Of mapped host memory that a device concerned has no access to
// the real driver makes no copy: it crashes, in cuMemcpyPeer as well (two H100s, but for a
// cuMemcpyPeer in the other device's context to memory of its own).

#include <cuda.h>

#include <cstddef>

#include "tools/simcuda/context.h"

namespace simcuda::memory {

// CUDA_ERROR_INVALID_VALUE for mappings and pool memory that the context's device has no rights to,
// and for addresses without a mapping. `by` is null where whoever has rights will do.
CUresult CheckCopyReach(const Context* by, CUdeviceptr address, size_t extent);

// Ends the process with a line, as the real driver's crash would, where mapped host memory in the
// range has no access for the device of `by`, or for that of the memory at `other_end`.
void CrashAsTheDriver(const Context* by, CUdeviceptr address, size_t extent, CUdeviceptr other_end);

// Whether a kernel of the context may be given the address. True for what is no memory at all, or
// not mapped: the touch will tell.
bool KernelReaches(const Context& by, CUdeviceptr address);

}  // namespace simcuda::memory

#endif  // VRAMSPAN_TOOLS_SIMCUDA_MEMORY_REACH_H_
