// The launch source that CUPTI is: one subscriber, callbacks for the calls that the runtime wants
// to hear of and no others. Decides nothing and remembers nothing; what a call means is the
// runtime's business (runtime/observe).
#include <cuda.h>
#include <cupti.h>

#include <chrono>
#include <cstdio>
#include <mutex>
#include <string>

#include "cupti_tracer/calls_under_way.h"
#include "cupti_tracer/cupti.h"
#include "runtime/observe/launch_source.h"

namespace vramspan {
namespace {

constexpr std::chrono::seconds kPatience{1};
// In place of the sink's token, of which it is none, in calls that it is not told of.
constexpr uint64_t kPassesBy = ~uint64_t{0};

const vramspanLaunchSink* sink = nullptr;  // Set before the first callback, never changed.
CallsUnderWay under_way;

// Under the lock.
std::mutex mutex;
const Cupti* cupti = nullptr;
CUpti_SubscriberHandle subscriber = nullptr;

void CUPTIAPI OnCall(void*, CUpti_CallbackDomain, CUpti_CallbackId id, const void* data) {
  const auto* call = static_cast<const CUpti_CallbackData*>(data);
  if (call->callbackSite == CUPTI_API_ENTER) {
    *call->correlationData = under_way.Enter() ? 0 : kPassesBy;
    if (*call->correlationData == kPassesBy) return;
    sink->enter(id, call->functionParams, call->context, call->correlationData);
  } else {
    if (*call->correlationData == kPassesBy || !under_way.Entered()) return;
    const auto* result = static_cast<const CUresult*>(call->functionReturnValue);
    sink->exit(id, call->functionParams, result != nullptr ? *result : CUDA_SUCCESS,
               *call->correlationData);
    under_way.Exit();
  }
}

// Who subscribes already, as CUPTI calls it; empty where it does not say.
std::string Holder() {
  if (cupti->SubscribeV2 == nullptr) return {};
  char name[CUPTI_OLD_SUBSCRIBER_NAME_MIN_LEN + 1] = "";
  CUpti_SubscriberParams params{};
  params.structSize = CUpti_SubscriberParams_STRUCT_SIZE;
  params.oldSubscriberName = name;
  params.oldSubscriberSize = sizeof(name) - 1;
  CUpti_SubscriberHandle mine = nullptr;
  const CUptiResult result =
      cupti->SubscribeV2(&mine, reinterpret_cast<CUpti_CallbackFunc>(&OnCall), nullptr, &params);
  if (result == CUPTI_SUCCESS) cupti->Unsubscribe(mine);  // It has gone meanwhile.
  return name;
}

// Empty, or why it cannot be done.
std::string Start(const vramspanLaunchSink* wanted, const char* library) {
  const std::lock_guard lock(mutex);
  if (wanted->version != VRAMSPAN_LAUNCH_SOURCE_VERSION) {
    return "the launch tracer and the runtime are of different versions; install them together";
  }
  if (under_way.closed()) return "CUPTI was given up to another tool";
  if (sink != nullptr)
    return sink == wanted ? "" : "launches are already traced for another runtime";
  std::string error;
  cupti = OpenCupti(library, &error);
  if (cupti == nullptr) return error;
  sink = wanted;
  CUptiResult result =
      cupti->Subscribe(&subscriber, reinterpret_cast<CUpti_CallbackFunc>(&OnCall), nullptr);
  if (result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED) {
    sink = nullptr;
    subscriber = nullptr;
    const std::string holder = Holder();
    return "another tool holds CUPTI (" +
           (holder.empty() ? "a profiler, or a framework's tracing" : holder) +
           "), which allows one tool at a time; end that tool first";
  }
  for (uint32_t i = 0; i < wanted->count && result == CUPTI_SUCCESS; ++i) {
    result = cupti->EnableCallback(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, wanted->calls[i]);
    // An older CUPTI does not know the youngest calls, and neither does its driver.
    if (result == CUPTI_ERROR_INVALID_PARAMETER) result = CUPTI_SUCCESS;
  }
  if (result == CUPTI_SUCCESS) return "";
  sink = nullptr;
  if (subscriber != nullptr) cupti->Unsubscribe(subscriber);
  subscriber = nullptr;
  return "CUPTI refused: " + cupti->Text(result);
}

std::string Stop() {
  const std::lock_guard lock(mutex);
  if (subscriber == nullptr) return "";
  // A call whose exit is not told would stay open for good, and with it the gate.
  if (!under_way.Close(kPatience)) {
    return "a traced call has not returned; try again when it has";
  }
  const CUptiResult result = cupti->Unsubscribe(subscriber);
  if (result != CUPTI_SUCCESS) {
    under_way.Open();
    return "CUPTI refused to end tracing: " + cupti->Text(result);
  }
  subscriber = nullptr;
  return "";
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

__attribute__((visibility("default"))) int vramspanLaunchSourceStop(char* error, size_t size) {
  const std::string why = vramspan::Stop();
  if (size != 0) std::snprintf(error, size, "%s", why.c_str());
  return why.empty() ? 0 : 1;
}

// The driver calls this where CUDA_INJECTION64_PATH names this library: then it is loaded, and the
// runtime of the program finds it wherever it lies. 1: all is well.
__attribute__((visibility("default"))) int InitializeInjection(void) { return 1; }

}  // extern "C"
