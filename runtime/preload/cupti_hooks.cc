#include "runtime/preload/cupti_hooks.h"

#include <cupti.h>
#include <dlfcn.h>

#include <atomic>

#include "runtime/api/tracing.h"
#include "runtime/base/log.h"
#include "runtime/base/own_calls.h"
#include "runtime/preload/process.h"
#include "runtime/preload/real_symbol.h"
#include "runtime/preload/resolver.h"

namespace vramspan::preload {
namespace {

constexpr char kSubscribe[] = "cuptiSubscribe";
constexpr char kSubscribeV2[] = "cuptiSubscribe_v2";
constexpr char kFinalize[] = "cuptiFinalize";

constexpr const char* kSonames[] = {"libcupti.so.13", "libcupti.so.12"};

// One entry point, for each way in which a program comes to it: see hook.h.
template <const char* kName, typename Function>
struct Entry;

template <const char* kName, typename... Args>
struct Entry<kName, CUptiResult(Args...)> {
  using Function = CUptiResult (*)(Args...);
  static inline constinit std::atomic<void*> asked{nullptr};

  static CUptiResult Call(void* real, Args... args) {
    // The tracer itself comes here when it subscribes.
    if (!Off() && !OwnCalls::Now() && !Inherited()) {
      const OwnCalls own;
      const Status status = Tracing::Get().GiveUpCupti();
      if (!status.ok()) Log(LogLevel::kWarning, status.message());
    }
    return reinterpret_cast<Function>(real)(args...);
  }
  static CUptiResult Asked(Args... args) {
    return Call(asked.load(std::memory_order_acquire), args...);
  }
  static CUptiResult Bound(const void* caller, Args... args) {
    void* const real = RealSymbol(caller, kName, kSonames);
    dlerror();
    return real != nullptr ? Call(real, args...) : CUPTI_ERROR_NOT_INITIALIZED;
  }
  static void* Answer(void* real) {
    asked.store(real, std::memory_order_release);
    return reinterpret_cast<void*>(&Asked);
  }
};
using Subscribe = Entry<kSubscribe, decltype(cuptiSubscribe)>;
using SubscribeV2 = Entry<kSubscribeV2, decltype(cuptiSubscribe_v2)>;
using Finalize = Entry<kFinalize, decltype(cuptiFinalize)>;

}  // namespace

bool IsCuptiHooked(std::string_view name) {
  return name == kSubscribe || name == kSubscribeV2 || name == kFinalize;
}

void* CuptiHook(std::string_view name, void* real) {
  if (real == nullptr) return nullptr;
  if (name == kSubscribe) return Subscribe::Answer(real);
  if (name == kSubscribeV2) return SubscribeV2::Answer(real);
  return name == kFinalize ? Finalize::Answer(real) : nullptr;
}

// What was linked to CUPTI asks for a name in the version that CUPTI gives it, which is its soname,
// and is bound past a function of another version; what was linked to nothing takes the default.
#define VS_VERSION(name, version, tag)                                       \
  extern "C" __attribute__((alias("vramspan_" #name), visibility("default"), \
                            used)) decltype(name) vramspan_##name##_##tag;   \
  __asm__(".symver vramspan_" #name "_" #tag ", " #name version)

extern "C" __attribute__((used)) CUptiResult vramspan_cuptiSubscribe(
    CUpti_SubscriberHandle* subscriber, CUpti_CallbackFunc callback, void* userdata) {
  return Subscribe::Bound(__builtin_return_address(0), subscriber, callback, userdata);
}
VS_VERSION(cuptiSubscribe, "@@VRAMSPAN_PRELOAD_1", default);
VS_VERSION(cuptiSubscribe, "@libcupti.so.12", 12);
VS_VERSION(cuptiSubscribe, "@libcupti.so.13", 13);

extern "C" __attribute__((used)) CUptiResult vramspan_cuptiSubscribe_v2(
    CUpti_SubscriberHandle* subscriber, CUpti_CallbackFunc callback, void* userdata,
    CUpti_SubscriberParams* params) {
  return SubscribeV2::Bound(__builtin_return_address(0), subscriber, callback, userdata, params);
}
VS_VERSION(cuptiSubscribe_v2, "@@VRAMSPAN_PRELOAD_1", default);
VS_VERSION(cuptiSubscribe_v2, "@libcupti.so.13", 13);

extern "C" __attribute__((used)) CUptiResult vramspan_cuptiFinalize(void) {
  return Finalize::Bound(__builtin_return_address(0));
}
VS_VERSION(cuptiFinalize, "@@VRAMSPAN_PRELOAD_1", default);
VS_VERSION(cuptiFinalize, "@libcupti.so.12", 12);
VS_VERSION(cuptiFinalize, "@libcupti.so.13", 13);

}  // namespace vramspan::preload
