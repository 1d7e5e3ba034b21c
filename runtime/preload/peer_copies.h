// Copies between devices that the driver refuses because one has no access to the other's memory,
// made again as the calls make them that name the contexts. Memory of cuMemAlloc the driver copies
// between devices whether or not peer access is enabled; mappings it does not.
#ifndef VRAMSPAN_RUNTIME_PRELOAD_PEER_COPIES_H_
#define VRAMSPAN_RUNTIME_PRELOAD_PEER_COPIES_H_

#include "runtime/observe/call_params.h"
#include "runtime/preload/cuda_api.h"

namespace vramspan::preload {

// CUDA_ERROR_INVALID_VALUE where neither side is ours, or no copy is between devices: then nothing
// is known of it, and the first answer holds.
CUresult CopyAsPeer(bool per_thread, CUdeviceptr to, CUdeviceptr from, size_t size);
CUresult CopyAsPeer(bool per_thread, CUdeviceptr to, CUdeviceptr from, size_t size,
                    CUstream stream);
CUresult CopyAsPeer(bool per_thread, const CUDA_MEMCPY2D* rows);
CUresult CopyAsPeer(bool per_thread, const CUDA_MEMCPY2D* rows, CUstream stream);
CUresult CopyAsPeer(bool per_thread, const CUDA_MEMCPY3D* rows);
CUresult CopyAsPeer(bool per_thread, const CUDA_MEMCPY3D* rows, CUstream stream);
// What the driver has taken of a batch before it refused one goes again with the rest: it may go in
// any order, so no copy of a batch needs another's result. `failed` (may be null): which failed.
CUresult CopyAsPeer(bool per_thread, CUdeviceptr* to, CUdeviceptr* from, size_t* sizes,
                    size_t count, CUmemcpyAttributes* attributes, size_t* attribute_firsts,
                    size_t attribute_count, size_t* failed, CUstream stream);
CUresult CopyAsPeer(bool per_thread, CUdeviceptr* to, CUdeviceptr* from, size_t* sizes,
                    size_t count, CUmemcpyAttributes* attributes, size_t* attribute_firsts,
                    size_t attribute_count, CUstream stream);
CUresult CopyAsPeer(bool per_thread, size_t count, CUDA_MEMCPY3D_BATCH_OP* copies, size_t* failed,
                    unsigned long long flags, CUstream stream);
CUresult CopyAsPeer(bool per_thread, size_t count, CUDA_MEMCPY3D_BATCH_OP* copies,
                    unsigned long long flags, CUstream stream);

#define VS_CBID(symbol) CUPTI_DRIVER_TRACE_CBID_##symbol
template <uint32_t kCall>
inline constexpr bool kMayBeBetweenDevicesPerThread =
    kCall == VS_CBID(cuMemcpy_ptds) || kCall == VS_CBID(cuMemcpyDtoD_v2_ptds) ||
    kCall == VS_CBID(cuMemcpyAsync_ptsz) || kCall == VS_CBID(cuMemcpyDtoDAsync_v2_ptsz) ||
    kCall == VS_CBID(cuMemcpy2D_v2_ptds) || kCall == VS_CBID(cuMemcpy2DUnaligned_v2_ptds) ||
    kCall == VS_CBID(cuMemcpy3D_v2_ptds) || kCall == VS_CBID(cuMemcpy2DAsync_v2_ptsz) ||
    kCall == VS_CBID(cuMemcpy3DAsync_v2_ptsz) || kCall == VS_CBID(cuMemcpyBatchAsync_ptsz) ||
    kCall == VS_CBID(cuMemcpyBatchAsync_v2_ptsz) || kCall == VS_CBID(cuMemcpy3DBatchAsync_ptsz) ||
    kCall == VS_CBID(cuMemcpy3DBatchAsync_v2_ptsz);
template <uint32_t kCall>
inline constexpr bool kMayBeBetweenDevices =
    kMayBeBetweenDevicesPerThread<kCall> || kCall == VS_CBID(cuMemcpy) ||
    kCall == VS_CBID(cuMemcpyDtoD_v2) || kCall == VS_CBID(cuMemcpyAsync) ||
    kCall == VS_CBID(cuMemcpyDtoDAsync_v2) || kCall == VS_CBID(cuMemcpy2D_v2) ||
    kCall == VS_CBID(cuMemcpy2DUnaligned_v2) || kCall == VS_CBID(cuMemcpy3D_v2) ||
    kCall == VS_CBID(cuMemcpy2DAsync_v2) || kCall == VS_CBID(cuMemcpy3DAsync_v2) ||
    kCall == VS_CBID(cuMemcpyBatchAsync) || kCall == VS_CBID(cuMemcpyBatchAsync_v2) ||
    kCall == VS_CBID(cuMemcpy3DBatchAsync) || kCall == VS_CBID(cuMemcpy3DBatchAsync_v2);
#undef VS_CBID

template <uint32_t kCall, typename... Args>
CUresult AgainAsPeer(Args... args) {
  return CopyAsPeer(kMayBeBetweenDevicesPerThread<kCall>, args...);
}

}  // namespace vramspan::preload

#endif  // VRAMSPAN_RUNTIME_PRELOAD_PEER_COPIES_H_
