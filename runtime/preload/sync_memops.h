// Copies and fills without Async in their names may return before they are done: the driver waits
// only where host memory could change under them. Memory that has
// CU_POINTER_ATTRIBUTE_SYNC_MEMOPS set is promised that they never do. The driver cannot keep that
// for addresses of ours, so the hooks wait; one load where nobody has asked for it.
#ifndef VRAMSPAN_RUNTIME_PRELOAD_SYNC_MEMOPS_H_
#define VRAMSPAN_RUNTIME_PRELOAD_SYNC_MEMOPS_H_

#include <atomic>
#include <string_view>

#include "runtime/preload/allocated.h"
#include "runtime/preload/cuda_api.h"
#include "runtime/preload/launch.h"

namespace vramspan::preload {

// Whether memory that a call names by this argument is promised it.
bool AsksToWait(CUdeviceptr p);
// Of copies of rows, by their first byte.
template <typename Copy>
requires requires(const Copy& c) { c.srcMemoryType; }
bool AsksToWait(const Copy* copy) {
  const auto is_address = [](CUmemorytype type) {
    return type == CU_MEMORYTYPE_DEVICE || type == CU_MEMORYTYPE_UNIFIED;
  };
  CUdeviceptr from = copy->srcDevice + copy->srcY * copy->srcPitch + copy->srcXInBytes;
  CUdeviceptr to = copy->dstDevice + copy->dstY * copy->dstPitch + copy->dstXInBytes;
  if constexpr (requires { copy->srcZ; }) {
    from += copy->srcZ * copy->srcHeight * copy->srcPitch;
    to += copy->dstZ * copy->dstHeight * copy->dstPitch;
  }
  return (is_address(copy->srcMemoryType) && AsksToWait(from)) ||
         (is_address(copy->dstMemoryType) && AsksToWait(to));
}
// Any other argument names none.
template <typename T>
bool AsksToWait(const T&) {
  return false;
}

// Waits for the current context's default stream of the calls for either kind.
CUresult AwaitDefaultStream(bool per_thread);

// The hook that tells of a call, and then waits where it has to.
template <bool kPerThread, uint32_t kCall, typename Params, typename Function>
struct Finished;
template <bool kPerThread, uint32_t kCall, typename Params, typename... Args>
struct Finished<kPerThread, kCall, Params, CUresult (*)(Args...)> {
  using Function = CUresult (*)(Args...);

  static CUresult Call(Function real, Args... args) {
    const CUresult result = Watched<kCall, Params, Function>::Call(real, args...);
    if (!any_sync_memops.load(std::memory_order_relaxed)) [[likely]]
      return result;
    if (result != CUDA_SUCCESS || !(AsksToWait(args) || ...)) return result;
    return AwaitDefaultStream(kPerThread);
  }
};
#define VS_FINISHED(symbol)                                                                \
  Finished<std::string_view(#symbol).ends_with("_ptds"), CUPTI_DRIVER_TRACE_CBID_##symbol, \
           struct symbol##_params_st, decltype(&::symbol)>::Call

}  // namespace vramspan::preload

#endif  // VRAMSPAN_RUNTIME_PRELOAD_SYNC_MEMOPS_H_
