#ifndef VRAMSPAN_TOOLS_SIMCUDA_CUPTI_DRIVER_LINK_H_
#define VRAMSPAN_TOOLS_SIMCUDA_CUPTI_DRIVER_LINK_H_

// The way to the driver: the functions of callbacks_abi.h and counters_abi.h, looked up in the
// libcuda.so.1 that the process has loaded or, before it has, in the one beside this library.
// Thread-safe.

#include "tools/simcuda/callbacks_abi.h"
#include "tools/simcuda/counters_abi.h"

namespace simcuda::cupti {

struct DriverLink {
  decltype(&simcudaCuptiSubscribe) subscribe = nullptr;
  decltype(&simcudaCuptiUnsubscribe) unsubscribe = nullptr;
  decltype(&simcudaCuptiFinalize) finalize = nullptr;
  decltype(&simcudaCuptiEnableCallback) enable_callback = nullptr;
  decltype(&simcudaCuptiEnableDomain) enable_domain = nullptr;
  decltype(&simcudaCuptiGetCallbackState) get_callback_state = nullptr;
  decltype(&simcudaMayCount) may_count = nullptr;
  decltype(&simcudaCountStart) count_start = nullptr;
  decltype(&simcudaCountBegin) count_begin = nullptr;
  decltype(&simcudaCountEnd) count_end = nullptr;
};

// Null, said once on stderr, where there is no simulated driver.
const DriverLink* Driver();

}  // namespace simcuda::cupti

#endif  // VRAMSPAN_TOOLS_SIMCUDA_CUPTI_DRIVER_LINK_H_
