// The exported functions that need the driver; cupti_callbacks.h says what each does.

#include <cupti.h>

#include "tools/simcuda/cupti/driver_link.h"

using simcuda::cupti::Driver;

#define CUPTI_EXPORT extern "C" __attribute__((visibility("default"))) CUptiResult

CUPTI_EXPORT cuptiSubscribe_v2(CUpti_SubscriberHandle* subscriber, CUpti_CallbackFunc callback,
                               void* userdata, CUpti_SubscriberParams* params) {
  if (Driver() == nullptr) return CUPTI_ERROR_NOT_INITIALIZED;
  return Driver()->subscribe(subscriber, callback, userdata, params);
}

CUPTI_EXPORT cuptiSubscribe(CUpti_SubscriberHandle* subscriber, CUpti_CallbackFunc callback,
                            void* userdata) {
  return cuptiSubscribe_v2(subscriber, callback, userdata, nullptr);
}

CUPTI_EXPORT cuptiUnsubscribe(CUpti_SubscriberHandle subscriber) {
  if (Driver() == nullptr) return CUPTI_ERROR_NOT_INITIALIZED;
  return Driver()->unsubscribe(subscriber);
}

CUPTI_EXPORT cuptiFinalize(void) {
  if (Driver() == nullptr) return CUPTI_ERROR_NOT_INITIALIZED;
  return Driver()->finalize();
}

CUPTI_EXPORT cuptiEnableCallback(uint32_t enable, CUpti_SubscriberHandle subscriber,
                                 CUpti_CallbackDomain domain, CUpti_CallbackId id) {
  if (Driver() == nullptr) return CUPTI_ERROR_NOT_INITIALIZED;
  return Driver()->enable_callback(enable, subscriber, domain, id);
}

CUPTI_EXPORT cuptiEnableDomain(uint32_t enable, CUpti_SubscriberHandle subscriber,
                               CUpti_CallbackDomain domain) {
  if (Driver() == nullptr) return CUPTI_ERROR_NOT_INITIALIZED;
  return Driver()->enable_domain(enable, subscriber, domain);
}

CUPTI_EXPORT cuptiEnableAllDomains(uint32_t enable, CUpti_SubscriberHandle subscriber) {
  return cuptiEnableDomain(enable, subscriber, CUPTI_CB_DOMAIN_DRIVER_API);
}

CUPTI_EXPORT cuptiGetCallbackState(uint32_t* enable, CUpti_SubscriberHandle subscriber,
                                   CUpti_CallbackDomain domain, CUpti_CallbackId id) {
  if (Driver() == nullptr) return CUPTI_ERROR_NOT_INITIALIZED;
  return Driver()->get_callback_state(enable, subscriber, domain, id);
}
