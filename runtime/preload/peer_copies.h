// Copies between devices that the driver refuses because one has no access to the other's memory,
// made again as the calls make them that name the contexts. Memory of cuMemAlloc the driver copies
// between devices whether or not peer access is enabled; mappings it does not.
#ifndef VRAMSPAN_RUNTIME_PRELOAD_PEER_COPIES_H_
#define VRAMSPAN_RUNTIME_PRELOAD_PEER_COPIES_H_

#include "runtime/observe/call_params.h"
#include "runtime/preload/cuda_api.h"

namespace vramspan::preload {

// CUDA_ERROR_INVALID_VALUE where neither side is ours: then nothing is known of it.
CUresult CopyAsPeer(bool per_thread, CUdeviceptr to, CUdeviceptr from, size_t size);
CUresult CopyAsPeer(bool per_thread, CUdeviceptr to, CUdeviceptr from, size_t size,
                    CUstream stream);

#define VS_CBID(symbol) CUPTI_DRIVER_TRACE_CBID_##symbol
template <uint32_t kCall>
inline constexpr bool kMayBeBetweenDevicesPerThread =
    kCall == VS_CBID(cuMemcpy_ptds) || kCall == VS_CBID(cuMemcpyDtoD_v2_ptds) ||
    kCall == VS_CBID(cuMemcpyAsync_ptsz) || kCall == VS_CBID(cuMemcpyDtoDAsync_v2_ptsz);
template <uint32_t kCall>
inline constexpr bool kMayBeBetweenDevices =
    kMayBeBetweenDevicesPerThread<kCall> ||
    kCall == VS_CBID(cuMemcpy) || kCall == VS_CBID(cuMemcpyDtoD_v2) ||
    kCall == VS_CBID(cuMemcpyAsync) || kCall == VS_CBID(cuMemcpyDtoDAsync_v2);
#undef VS_CBID

template <uint32_t kCall, typename... Args>
CUresult AgainAsPeer(Args... args) {
  return CopyAsPeer(kMayBeBetweenDevicesPerThread<kCall>, args...);
}

}  // namespace vramspan::preload

#endif  // VRAMSPAN_RUNTIME_PRELOAD_PEER_COPIES_H_
