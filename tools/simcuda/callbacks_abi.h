#ifndef VRAMSPAN_TOOLS_SIMCUDA_CALLBACKS_ABI_H_
#define VRAMSPAN_TOOLS_SIMCUDA_CALLBACKS_ABI_H_

// What libcuda.so.1 exports for libcupti.so.13: cupti_callbacks.h says what the functions of the
// same names do. Only the driver's domain exists; the others get CUPTI_ERROR_NOT_SUPPORTED.
// Thread-safe, and callable from a callback.

#include <cupti.h>

#define SIMCUDA_CALLBACKS_EXPORT extern "C" __attribute__((visibility("default")))

// `params` may be null.
SIMCUDA_CALLBACKS_EXPORT CUptiResult simcudaCuptiSubscribe(CUpti_SubscriberHandle* subscriber,
                                                           CUpti_CallbackFunc callback,
                                                           void* userdata,
                                                           CUpti_SubscriberParams* params);

// Returns when no callback of the subscriber runs, but for those that the caller is inside of.
SIMCUDA_CALLBACKS_EXPORT CUptiResult simcudaCuptiUnsubscribe(CUpti_SubscriberHandle subscriber);

// Unsubscribes whoever subscribes.
SIMCUDA_CALLBACKS_EXPORT CUptiResult simcudaCuptiFinalize(void);

SIMCUDA_CALLBACKS_EXPORT CUptiResult simcudaCuptiEnableCallback(uint32_t enable,
                                                                CUpti_SubscriberHandle subscriber,
                                                                CUpti_CallbackDomain domain,
                                                                CUpti_CallbackId id);
SIMCUDA_CALLBACKS_EXPORT CUptiResult simcudaCuptiEnableDomain(uint32_t enable,
                                                              CUpti_SubscriberHandle subscriber,
                                                              CUpti_CallbackDomain domain);
SIMCUDA_CALLBACKS_EXPORT CUptiResult simcudaCuptiGetCallbackState(uint32_t* enable,
                                                                  CUpti_SubscriberHandle subscriber,
                                                                  CUpti_CallbackDomain domain,
                                                                  CUpti_CallbackId id);

#endif  // VRAMSPAN_TOOLS_SIMCUDA_CALLBACKS_ABI_H_
