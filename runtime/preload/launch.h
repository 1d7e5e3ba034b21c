// The launch source that hooks are: every call that a sink wants to hear of has a row, and its hook
// tells the sink of the call under CUPTI's number and in CUPTI's struct. While nobody listens a
// hook costs two loads and two branches.
#ifndef VRAMSPAN_RUNTIME_PRELOAD_LAUNCH_H_
#define VRAMSPAN_RUNTIME_PRELOAD_LAUNCH_H_

#include <atomic>

#include "runtime/observe/call_params.h"
#include "runtime/observe/launch_source.h"
#include "runtime/preload/between_devices.h"
#include "runtime/preload/cuda_api.h"
#include "runtime/preload/peer_copies.h"

namespace vramspan::preload {

// Null while nobody listens.
extern std::atomic<const vramspanLaunchSink*> launch_sink;

CUcontext CurrentContext();

// Nobody listens to this call: see Tracing::NoteUnseen.
void PassUnseen(uint32_t call);

// A vramspanLaunchSourceStart_t.
int StartWatching(const vramspanLaunchSink* sink, const char* library, char* error, size_t size);

template <uint32_t kCall, typename Params, typename Function>
struct Watched;

template <uint32_t kCall, typename Params, typename... Args>
struct Watched<kCall, Params, CUresult (*)(Args...)> {
  using Function = CUresult (*)(Args...);

  static CUresult Call(Function real, Args... args) {
    if constexpr (ends::kAny<Params>) {
      if (several_devices.load(std::memory_order_relaxed)) [[unlikely]]
        OpenWhatIsBetweenDevices(Params{args...});
    }
    const vramspanLaunchSink* sink = launch_sink.load(std::memory_order_acquire);
    if (sink == nullptr) {
      PassUnseen(kCall);
      return Make(real, args...);
    }
    return Tell(sink, real, args...);
  }

 private:
  static CUresult Make(Function real, Args... args) {
    const CUresult result = real(args...);
    if constexpr (kMayBeBetweenDevices<kCall>) {
      if (result == CUDA_ERROR_INVALID_VALUE) [[unlikely]]
        return AgainAsPeer<kCall>(args...);
    }
    return result;
  }

  __attribute__((noinline)) static CUresult Tell(const vramspanLaunchSink* sink, Function real,
                                                 Args... args) {
    const Params params{args...};
    uint64_t token = 0;
    sink->enter(kCall, &params, CurrentContext(), &token);
    // Also where the thread is cancelled in the driver, and unwound.
    const Leaving leaving{sink, &params, token};
    return leaving.result = Make(real, args...);
  }

  struct Leaving {
    const vramspanLaunchSink* const sink;
    const Params* const params;
    const uint64_t token;
    mutable CUresult result = CUDA_ERROR_UNKNOWN;
    ~Leaving() { sink->exit(kCall, params, result, token); }
  };
};

// The hook that tells of a call and does nothing else.
#define VS_WATCHED(symbol) \
  Watched<CUPTI_DRIVER_TRACE_CBID_##symbol, struct symbol##_params_st, decltype(&::symbol)>::Call

}  // namespace vramspan::preload

#endif  // VRAMSPAN_RUNTIME_PRELOAD_LAUNCH_H_
