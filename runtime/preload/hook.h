// What stands between a program and one entry point of the driver.
//
// A hook is a function that gets the driver's own function first and the call's arguments behind
// it: `CUresult MemFree(decltype(&::cuMemFree_v2) real, CUdeviceptr p)`. A row of the table
// (hooks.inc) joins it to a symbol; everything else follows from the row. Calls that the runtime
// makes for itself (OwnCalls) never reach a hook, nor do those of a child of fork (Inherited).
//
// A program comes here by two ways, and what `real` is differs: through a symbol that was bound to
// this library's by the loader (then it is what the loader would have bound without us, so that
// other preloads see the call), or through a pointer that dlsym or cuGetProcAddress answered (then
// it is what they would have answered without us).
#ifndef VRAMSPAN_RUNTIME_PRELOAD_HOOK_H_
#define VRAMSPAN_RUNTIME_PRELOAD_HOOK_H_

#include <atomic>
#include <cstddef>

#include "runtime/base/own_calls.h"
#include "runtime/base/uncancellable.h"
#include "runtime/preload/cuda_api.h"
#include "runtime/preload/hook_scope.h"
#include "runtime/preload/process.h"

namespace vramspan::preload {

enum class Way { kBound, kAsked };

// The driver's functions by row, as each way finds them. Null: not looked for, or not there.
struct RealFunctions {
  std::atomic<void*> bound{nullptr};
  std::atomic<void*> asked{nullptr};
};
extern RealFunctions real_functions[];

// Looks for what the loader would have bound; null when no library has it.
void* FindBound(size_t id);

template <size_t kId, Way kWay, typename Function, auto kHook>
struct HookPoint;

template <size_t kId, Way kWay, typename... Args, auto kHook>
struct HookPoint<kId, kWay, CUresult (*)(Args...), kHook> {
  using Function = CUresult (*)(Args...);

  static CUresult Call(Args... args) {
    const auto real = reinterpret_cast<Function>(Real());
    if (kWay == Way::kBound && real == nullptr) [[unlikely]] {
      // The program is linked to a driver newer than the one that is there.
      return CUDA_ERROR_NOT_FOUND;
    }
    if (OwnCalls::Now() || Inherited()) return real(args...);
    const CUresult result = Hooked(real, args...);
    Uncancellable::TestIfDue();
    return result;
  }

  static void* Address() { return reinterpret_cast<void*>(&Call); }

 private:
  static CUresult Hooked(Function real, Args... args) {
    const HookScope scope;
    return kHook(real, args...);
  }

  static void* Real() {
    if constexpr (kWay == Way::kAsked) {
      return real_functions[kId].asked.load(std::memory_order_relaxed);
    } else {
      void* real = real_functions[kId].bound.load(std::memory_order_relaxed);
      return real != nullptr ? real : FindBound(kId);
    }
  }
};

}  // namespace vramspan::preload

#endif  // VRAMSPAN_RUNTIME_PRELOAD_HOOK_H_
