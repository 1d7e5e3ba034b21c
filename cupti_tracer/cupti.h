// The few functions of CUPTI that the tracer calls, looked up at run time: a machine without CUPTI
// can load the tracer and is told what is missing.
#ifndef VRAMSPAN_CUPTI_TRACER_CUPTI_H_
#define VRAMSPAN_CUPTI_TRACER_CUPTI_H_

#include <cupti.h>

#include <string>

namespace vramspan {

struct Cupti {
  decltype(&cuptiSubscribe) Subscribe = nullptr;
  decltype(&cuptiUnsubscribe) Unsubscribe = nullptr;
  decltype(&cuptiEnableCallback) EnableCallback = nullptr;
  decltype(&cuptiGetResultString) GetResultString = nullptr;
  decltype(&cuptiSubscribe_v2) SubscribeV2 = nullptr;  // Null before CUDA 13.

  std::string Text(CUptiResult result) const;
};

// The library, for dlsym. Null, with a sentence in `error`, where there is none. Looks at what the
// process has loaded already, VRAMSPAN_CUPTI, `preferred` (may be null), the loader's paths and the
// toolkit's usual folders, in this order. Never closed.
void* OpenCuptiLibrary(const char* preferred, std::string* error);
// The functions that tracing needs, of that library.
const Cupti* OpenCupti(const char* preferred, std::string* error);

}  // namespace vramspan

#endif  // VRAMSPAN_CUPTI_TRACER_CUPTI_H_
