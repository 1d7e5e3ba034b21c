#include "tools/simcuda/callbacks.h"

#include <pthread.h>

#include "tools/simcuda/callbacks_registry.h"
#include "tools/simcuda/modules/module.h"
#include "tools/simcuda/thread.h"

namespace simcuda::callbacks {

constinit std::atomic<bool> enabled[CUPTI_DRIVER_TRACE_CBID_SIZE] = {};
constinit std::atomic<Subscription*> current{nullptr};

namespace {

// The callbacks that the thread is inside of, innermost first.
struct Running {
  const Subscription* subscription;
  const Running* outer;
};
constinit thread_local const Running* running_here = nullptr;

void End(Subscription* subscription) {
  subscription->running.fetch_sub(1);
  if (current.load() == subscription) return;
  Registry& registry = Registry::Get();
  const MutexLock lock(registry.mutex);
  registry.ended.NotifyAll();
}

}  // namespace

int RunningHere(const Subscription* subscription) {
  int count = 0;
  for (const Running* it = running_here; it != nullptr; it = it->outer) {
    count += it->subscription == subscription ? 1 : 0;
  }
  return count;
}

Registry& Registry::Get() {
  // In a forked child the other threads are gone, and with them the callbacks they were inside of.
  static Registry* const registry = [] {
    pthread_atfork([]() SIMCUDA_NO_ANALYSIS { Get().mutex.Lock(); },
                   []() SIMCUDA_NO_ANALYSIS { Get().mutex.Unlock(); },
                   []() SIMCUDA_NO_ANALYSIS {
                     Subscription* const subscription = current.load();
                     if (subscription != nullptr) {
                       subscription->running.store(RunningHere(subscription));
                     }
                     Get().mutex.Unlock();
                   });
    return new Registry();
  }();
  return *registry;
}

TracedCall::TracedCall(uint32_t id, const char* name, const void* params, const char* kernel)
    : id_(id), subscription_(current.load()) {
  static std::atomic<uint32_t> last{0};
  // Looked at again: a subscriber that has just taken over gets nothing that another enabled.
  if (!enabled[id].load()) subscription_ = nullptr;
  data_.functionName = name;
  data_.functionParams = params;
  data_.symbolName = kernel;
  data_.correlationData = &correlation_;
  data_.correlationId = last.fetch_add(1, std::memory_order_relaxed) + 1;
  Deliver(CUPTI_API_ENTER, nullptr);
}

CUresult TracedCall::Return(CUresult result) {
  CUresult shown = result;
  Deliver(CUPTI_API_EXIT, &shown);
  return result;
}

void TracedCall::Deliver(CUpti_ApiCallbackSite site, CUresult* result) {
  if (subscription_ == nullptr) return;
  Subscription* const subscription = subscription_;
  subscription->running.fetch_add(1);
  if (current.load() == subscription) {
    const ContextPtr context = CurrentContext();
    data_.callbackSite = site;
    data_.functionReturnValue = result;
    data_.context = context ? context->handle() : nullptr;
    data_.contextUid = context ? static_cast<uint32_t>(context->id()) : 0;
    const Running running = {subscription, running_here};
    running_here = &running;
    subscription->function(subscription->userdata, CUPTI_CB_DOMAIN_DRIVER_API, id_, &data_);
    running_here = running.outer;
  } else {
    subscription_ = nullptr;
  }
  End(subscription);
}

const char* KernelName(CUfunction handle) {
  const FunctionPtr function = Functions().FindQuietly(handle);
  if (function) return function->code().name.c_str();
  const KernelPtr kernel = Kernels().FindQuietly(reinterpret_cast<CUkernel>(handle));
  return kernel ? kernel->code().name.c_str() : nullptr;
}

}  // namespace simcuda::callbacks
