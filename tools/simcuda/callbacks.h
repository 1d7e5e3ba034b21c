#ifndef VRAMSPAN_TOOLS_SIMCUDA_CALLBACKS_H_
#define VRAMSPAN_TOOLS_SIMCUDA_CALLBACKS_H_

// Callbacks at entry and exit of the driver's calls: what libcupti.so.13 (cupti/) subscribes to.
//
// A call whose id is not enabled pays one relaxed load. Callbacks run on the thread that calls,
// outside every lock and check of the driver, so they may call it; such calls are delivered too.
// Entry and exit come in pairs: a call that was under way when its id was enabled has neither, one
// that was under way when its id was disabled has both. Thread-safe.

#include <cupti.h>

#include <atomic>
#include <cstdint>

namespace simcuda::callbacks {

struct Subscription;

// By CUpti_driver_api_trace_cbid.
extern std::atomic<bool> enabled[CUPTI_DRIVER_TRACE_CBID_SIZE];

inline bool Enabled(uint32_t id) { return enabled[id].load(std::memory_order_relaxed); }

// A call of an enabled id, from its entry to its exit.
class TracedCall {
 public:
  // Runs the callback of the entry. `name` is a constant, `params` the call's struct of
  // generated_cuda_meta.h or null where it has none; `kernel` is null but for launches.
  TracedCall(uint32_t id, const char* name, const void* params, const char* kernel);
  TracedCall(const TracedCall&) = delete;
  TracedCall& operator=(const TracedCall&) = delete;

  // Runs the callback of the exit, and returns `result`. To be called once.
  CUresult Return(CUresult result);

 private:
  void Deliver(CUpti_ApiCallbackSite site, CUresult* result);

  const uint32_t id_;
  Subscription* subscription_;  // null: nothing is delivered any more
  uint64_t correlation_ = 0;
  CUpti_CallbackData data_ = {};
};

// The name of the kernel that a launch of the handle would run; null where it names none.
const char* KernelName(CUfunction handle);

}  // namespace simcuda::callbacks

#endif  // VRAMSPAN_TOOLS_SIMCUDA_CALLBACKS_H_
