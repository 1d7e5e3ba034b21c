#ifndef VRAMSPAN_TOOLS_SIMCUDA_CALLS_UNSUPPORTED_H_
#define VRAMSPAN_TOOLS_SIMCUDA_CALLS_UNSUPPORTED_H_

// What the simulated devices cannot do, and say so: multicast objects (a store that goes to several
// devices has no counterpart in a mapping), and the engine that decompresses. Arguments are checked
// all the same, and the answer is CUDA_ERROR_NOT_SUPPORTED. Functions behind rows of
// entries_core.inc.

#include <cuda.h>

#include <cstddef>

namespace simcuda::calls {

CUresult MulticastGetGranularity(size_t* granularity, const CUmulticastObjectProp* prop,
                                 CUmulticastGranularity_flags option);
CUresult MulticastCreate(CUmemGenericAllocationHandle* group, const CUmulticastObjectProp* prop);
CUresult MulticastAddDevice(CUmemGenericAllocationHandle group, CUdevice device);
CUresult MulticastBindMem(CUmemGenericAllocationHandle group, size_t group_offset,
                          CUmemGenericAllocationHandle handle, size_t offset, size_t size,
                          unsigned long long flags);
CUresult MulticastBindAddr(CUmemGenericAllocationHandle group, size_t group_offset,
                           CUdeviceptr address, size_t size, unsigned long long flags);
CUresult MulticastUnbind(CUmemGenericAllocationHandle group, CUdevice device, size_t offset,
                         size_t size);

CUresult MemBatchDecompressAsync(CUmemDecompressParams* params, size_t count, unsigned flags,
                                 size_t* failed, CUstream stream);

}  // namespace simcuda::calls

#endif  // VRAMSPAN_TOOLS_SIMCUDA_CALLS_UNSUPPORTED_H_
