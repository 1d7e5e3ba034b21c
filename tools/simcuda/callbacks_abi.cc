#include "tools/simcuda/callbacks_abi.h"

#include <cstdio>

#include "tools/simcuda/callbacks_registry.h"

namespace simcuda::callbacks {
namespace {

CUptiResult CheckDomain(CUpti_CallbackDomain domain) {
  if (domain <= CUPTI_CB_DOMAIN_INVALID || domain >= CUPTI_CB_DOMAIN_SIZE) {
    return CUPTI_ERROR_INVALID_PARAMETER;
  }
  return domain == CUPTI_CB_DOMAIN_DRIVER_API ? CUPTI_SUCCESS : CUPTI_ERROR_NOT_SUPPORTED;
}

CUptiResult CheckId(CUpti_CallbackDomain domain, CUpti_CallbackId id) {
  const CUptiResult result = CheckDomain(domain);
  if (result != CUPTI_SUCCESS) return result;
  return id > 0 && id < CUPTI_DRIVER_TRACE_CBID_SIZE ? CUPTI_SUCCESS
                                                     : CUPTI_ERROR_INVALID_PARAMETER;
}

// The subscription that the handle names, if it is the one that stands.
Subscription* Standing(CUpti_SubscriberHandle handle) {
  Subscription* const subscription = current.load();
  return reinterpret_cast<CUpti_SubscriberHandle>(subscription) == handle ? subscription : nullptr;
}

std::string FullName(const CUpti_SubscriberParams* params) {
  if (params == nullptr || params->subscriberName == nullptr) return "CUPTI";
  return "CUPTI for " +
         std::string(params->subscriberName).substr(0, CUPTI_SUBSCRIBER_NAME_MAX_LEN);
}

void EnableAll(bool on) {
  for (std::atomic<bool>& id : enabled) id.store(on);
}

void EndSubscription(Subscription* subscription) SIMCUDA_REQUIRES(Registry::Get().mutex) {
  EnableAll(false);
  current.store(nullptr);
  const int here = RunningHere(subscription);
  while (subscription->running.load() != here) Registry::Get().ended.Wait(Registry::Get().mutex);
}

}  // namespace
}  // namespace simcuda::callbacks

using simcuda::MutexLock;
using simcuda::callbacks::Registry;
using simcuda::callbacks::Subscription;
namespace callbacks = simcuda::callbacks;

CUptiResult simcudaCuptiSubscribe(CUpti_SubscriberHandle* subscriber, CUpti_CallbackFunc callback,
                                  void* userdata, CUpti_SubscriberParams* params) {
  if (subscriber == nullptr || callback == nullptr ||
      (params != nullptr && params->structSize < CUpti_SubscriberParams_STRUCT_SIZE)) {
    return CUPTI_ERROR_INVALID_PARAMETER;
  }
  Registry& registry = Registry::Get();
  const MutexLock lock(registry.mutex);
  if (const Subscription* const other = callbacks::current.load(); other != nullptr) {
    if (params != nullptr && params->oldSubscriberName != nullptr) {
      snprintf(params->oldSubscriberName, params->oldSubscriberSize, "%s", other->name.c_str());
    }
    return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
  }
  Subscription& added = registry.all.emplace_back(callback, userdata, callbacks::FullName(params));
  callbacks::current.store(&added);
  *subscriber = reinterpret_cast<CUpti_SubscriberHandle>(&added);
  return CUPTI_SUCCESS;
}

CUptiResult simcudaCuptiUnsubscribe(CUpti_SubscriberHandle subscriber) {
  const MutexLock lock(Registry::Get().mutex);
  Subscription* const subscription = callbacks::Standing(subscriber);
  if (subscription == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  callbacks::EndSubscription(subscription);
  return CUPTI_SUCCESS;
}

CUptiResult simcudaCuptiFinalize() {
  const MutexLock lock(Registry::Get().mutex);
  Subscription* const subscription = callbacks::current.load();
  if (subscription != nullptr) callbacks::EndSubscription(subscription);
  return CUPTI_SUCCESS;
}

CUptiResult simcudaCuptiEnableCallback(uint32_t enable, CUpti_SubscriberHandle subscriber,
                                       CUpti_CallbackDomain domain, CUpti_CallbackId id) {
  const CUptiResult result = callbacks::CheckId(domain, id);
  if (result != CUPTI_SUCCESS) return result;
  const MutexLock lock(Registry::Get().mutex);
  if (callbacks::Standing(subscriber) == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  callbacks::enabled[id].store(enable != 0);
  return CUPTI_SUCCESS;
}

CUptiResult simcudaCuptiEnableDomain(uint32_t enable, CUpti_SubscriberHandle subscriber,
                                     CUpti_CallbackDomain domain) {
  const CUptiResult result = callbacks::CheckDomain(domain);
  if (result != CUPTI_SUCCESS) return result;
  const MutexLock lock(Registry::Get().mutex);
  if (callbacks::Standing(subscriber) == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  callbacks::EnableAll(enable != 0);
  return CUPTI_SUCCESS;
}

CUptiResult simcudaCuptiGetCallbackState(uint32_t* enable, CUpti_SubscriberHandle subscriber,
                                         CUpti_CallbackDomain domain, CUpti_CallbackId id) {
  const CUptiResult result = callbacks::CheckId(domain, id);
  if (result != CUPTI_SUCCESS) return result;
  const MutexLock lock(Registry::Get().mutex);
  if (enable == nullptr || callbacks::Standing(subscriber) == nullptr) {
    return CUPTI_ERROR_INVALID_PARAMETER;
  }
  *enable = callbacks::enabled[id].load() ? 1 : 0;
  return CUPTI_SUCCESS;
}
