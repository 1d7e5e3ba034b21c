// A tool that the linker bound to CUPTI, as frameworks' profilers are, and that is opened late.
#include <cupti.h>

extern "C" __attribute__((visibility("default"))) CUptiResult LinkedToolSubscribes(
    CUpti_SubscriberHandle* subscriber, CUpti_CallbackFunc callback) {
  return cuptiSubscribe(subscriber, callback, nullptr);
}
