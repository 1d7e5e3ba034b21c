// The launch source that CUPTI is: one subscriber, callbacks for the calls that the runtime wants
// to hear of and no others. Decides nothing and remembers nothing; what a call means is the
// runtime's business (runtime/observe).
#include <cuda.h>
#include <cupti.h>

#include <cstdio>
#include <mutex>
#include <string>

#include "cupti_tracer/cupti.h"
#include "runtime/observe/launch_source.h"

namespace vramspan {
namespace {

const vramspanLaunchSink* sink = nullptr;  // Set before the first callback, never changed.

void CUPTIAPI OnCall(void*, CUpti_CallbackDomain, CUpti_CallbackId id, const void* data) {
  const auto* call = static_cast<const CUpti_CallbackData*>(data);
  if (call->callbackSite == CUPTI_API_ENTER) {
    *call->correlationData = 0;
    sink->enter(id, call->functionParams, call->context, call->correlationData);
  } else {
    const auto* result = static_cast<const CUresult*>(call->functionReturnValue);
    sink->exit(id, call->functionParams, result != nullptr ? *result : CUDA_SUCCESS,
               *call->correlationData);
  }
}

// Empty, or why it cannot be done.
std::string Start(const vramspanLaunchSink* wanted, const char* library) {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  if (wanted->version != VRAMSPAN_LAUNCH_SOURCE_VERSION) {
    return "this launch tracer is of another version than the runtime: install them together";
  }
  if (sink != nullptr)
    return sink == wanted ? "" : "launches are traced for another runtime already";
  std::string error;
  const Cupti* cupti = OpenCupti(library, &error);
  if (cupti == nullptr) return error;
  CUpti_SubscriberHandle subscriber = nullptr;
  sink = wanted;
  CUptiResult result =
      cupti->Subscribe(&subscriber, reinterpret_cast<CUpti_CallbackFunc>(&OnCall), nullptr);
  if (result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED) {
    sink = nullptr;
    return "another tool holds CUPTI (a profiler, or a framework's tracing): it allows one at a "
           "time";
  }
  for (uint32_t i = 0; i < wanted->count && result == CUPTI_SUCCESS; ++i) {
    result = cupti->EnableCallback(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, wanted->calls[i]);
    // An older CUPTI does not know the youngest calls, and neither does its driver.
    if (result == CUPTI_ERROR_INVALID_PARAMETER) result = CUPTI_SUCCESS;
  }
  if (result == CUPTI_SUCCESS) return "";
  sink = nullptr;
  if (subscriber != nullptr) cupti->Unsubscribe(subscriber);
  return "CUPTI refused: " + cupti->Text(result);
}

}  // namespace
}  // namespace vramspan

extern "C" {

__attribute__((visibility("default"))) int vramspanLaunchSourceStart(const vramspanLaunchSink* sink,
                                                                     const char* library,
                                                                     char* error, size_t size) {
  const std::string why = vramspan::Start(sink, library);
  if (size != 0) std::snprintf(error, size, "%s", why.c_str());
  return why.empty() ? 0 : 1;
}

// The driver calls this where CUDA_INJECTION64_PATH names this library: then it is loaded, and the
// runtime of the program finds it wherever it lies. 1: all is well.
__attribute__((visibility("default"))) int InitializeInjection(void) { return 1; }

}  // extern "C"
