// Hooks of stream-ordered allocation. Pools stay the driver's own, handles and attributes; memory
// of those that are plain device memory, a device's default pool among them, comes from the runtime
// (stream_ordered.h). Pools whose memory can leave the process, has a limit, lies on the host or is
// opened to other devices are left to the driver, and so is what is allocated inside a capture.
#ifndef VRAMSPAN_RUNTIME_PRELOAD_POOLS_H_
#define VRAMSPAN_RUNTIME_PRELOAD_POOLS_H_

#include <tuple>

#include "runtime/base/own_calls.h"
#include "runtime/preload/cuda_api.h"
#include "runtime/preload/launch.h"
#include "runtime/preload/process.h"

namespace vramspan::preload {

// With kPerThread a null stream is the thread's own.
template <bool kPerThread>
CUresult MemAllocAsync(decltype(&::cuMemAllocAsync) real, CUdeviceptr* p, size_t size,
                       CUstream stream);
template <bool kPerThread>
CUresult MemAllocFromPoolAsync(decltype(&::cuMemAllocFromPoolAsync) real, CUdeviceptr* p,
                               size_t size, CUmemoryPool pool, CUstream stream);
template <bool kPerThread>
CUresult MemFreeAsync(decltype(&::cuMemFreeAsync) real, CUdeviceptr p, CUstream stream);

// A null stream of calls with kPerThread is the thread's own.
template <bool kPerThread>
CUstream Explicit(CUstream stream) {
  return kPerThread && stream == nullptr ? CU_STREAM_PER_THREAD : stream;
}

CUresult MemPoolCreate(decltype(&::cuMemPoolCreate) real, CUmemoryPool* pool,
                       const CUmemPoolProps* props);
CUresult MemPoolDestroy(decltype(&::cuMemPoolDestroy) real, CUmemoryPool pool);
CUresult MemPoolTrimTo(decltype(&::cuMemPoolTrimTo) real, CUmemoryPool pool, size_t keep);
CUresult MemPoolSetAttribute(decltype(&::cuMemPoolSetAttribute) real, CUmemoryPool pool,
                             CUmemPool_attribute attribute, void* value);
CUresult MemPoolGetAttribute(decltype(&::cuMemPoolGetAttribute) real, CUmemoryPool pool,
                             CUmemPool_attribute attribute, void* value);
CUresult MemPoolSetAccess(decltype(&::cuMemPoolSetAccess) real, CUmemoryPool pool,
                          const CUmemAccessDesc* access, size_t count);

// Events of the program's, by which one stream comes behind another (stream_order.h).
template <bool kPerThread>
CUresult EventRecord(decltype(&::cuEventRecord) real, CUevent event, CUstream stream);
template <bool kPerThread>
CUresult EventRecordWithFlags(decltype(&::cuEventRecordWithFlags) real, CUevent event,
                              CUstream stream, unsigned flags);
template <bool kPerThread>
CUresult StreamWaitEvent(decltype(&::cuStreamWaitEvent) real, CUstream stream, CUevent event,
                         unsigned flags);
CUresult EventDestroy(decltype(&::cuEventDestroy_v2) real, CUevent event);

// A graph is about to be launched: it may record events.
void NoteGraphLaunch();

// Looks at what has been freed in stream order.
void NoteSynchronised();

// The hook of a call that waits for work, which those who listen are told of.
template <uint32_t kCall, typename Function>
struct Synchronising;
template <uint32_t kCall, typename... Args>
struct Synchronising<kCall, CUresult (*)(Args...)> {
  // CUPTI has a struct for all but those without parameters, and it is like this.
  struct Params {
    std::tuple_element_t<0, std::tuple<Args..., const void*>> only;
  };
  static_assert(sizeof...(Args) <= 1);

  static CUresult Call(CUresult (*real)(Args...), Args... args) {
    const CUresult result = Watched<kCall, Params, CUresult (*)(Args...)>::Call(real, args...);
    if (result == CUDA_SUCCESS && Ready()) NoteSynchronised();
    return result;
  }
};
#define VS_SYNCHRONISING(symbol) \
  Synchronising<CUPTI_DRIVER_TRACE_CBID_##symbol, decltype(&::symbol)>::Call

}  // namespace vramspan::preload

#endif  // VRAMSPAN_RUNTIME_PRELOAD_POOLS_H_
