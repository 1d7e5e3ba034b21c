// What PyTorch's allocator says of its blocks. It tells PyTorch's profiler of each block that it
// hands out or has back, by a function of libc10.so that it calls for every one, profiler or not.
// The loader binds that call to the function of the same name here, which passes it on.
#include "runtime/preload/torch_blocks.h"

#include <dlfcn.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <exception>

#include "runtime/base/own_calls.h"
#include "runtime/base/yes_no.h"
#include "runtime/preload/captures.h"
#include "runtime/preload/hook_scope.h"
#include "runtime/preload/process.h"
#include "runtime/preload/real_symbol.h"
#include "runtime/preload/runtimes.h"
#include "runtime/preload/torch_caller.h"

namespace vramspan::preload {
namespace {

// As c10::Device is passed: by value.
struct TorchDevice {
  int8_t type;
  int8_t index;
};
constexpr int8_t kCuda = 1;

// void c10::reportMemoryUsageToProfiler(void* ptr, int64_t alloc_size, size_t total_allocated,
//                                       size_t total_reserved, Device device)
using Report = void (*)(void*, int64_t, uint64_t, uint64_t, TorchDevice);
// Since 2.1 and before: size_t or int64_t as the type of the totals.
constexpr char kName[] = "_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE";
constexpr char kOldName[] = "_ZN3c1027reportMemoryUsageToProfilerEPvlllNS_6DeviceE";
constexpr const char* kSonames[] = {"libc10.so"};

// VRAMSPAN_BLOCKS: no, for whoever doubts them.
bool Hears() {
  static const bool hears = [] {
    const char* const text = std::getenv("VRAMSPAN_BLOCKS");
    return text == nullptr || ParseYesNo(text).value_or(true);
  }();
  return hears;
}

void Tell(CUdeviceptr p, int64_t bytes) {
  if (Off() || !Ready() || OwnCalls::Now() || Inherited() || !Hears()) return;
  const HookScope scope;
  Runtime* const runtime = RuntimeOf(p);
  if (runtime == nullptr) return;
  const OwnCalls own;
  try {
    runtime->BlockReported(DevicePtr(p), bytes, CapturesUnderWay());
  } catch (const std::exception&) {
    // It was a hint.
  }
}

template <const char* kSymbol>
struct Entry {
  static inline constinit std::atomic<void*> real{nullptr};
  static inline constinit std::atomic<bool> none{false};  // It was looked for.

  static void* Find(const void* caller) {
    void* const found = RealSymbol(caller, kSymbol, kSonames);
    dlerror();
    if (found != nullptr) real.store(found, std::memory_order_release);
    return found;
  }
  static void Call(const void* caller, void* p, int64_t bytes, uint64_t allocated,
                   uint64_t reserved, TorchDevice device) {
    // What comes back is not handed out again before this returns.
    if (device.type == kCuda) Tell(reinterpret_cast<CUdeviceptr>(p), bytes);
    void* to = real.load(std::memory_order_acquire);
    if (to == nullptr) {
      if (none.load(std::memory_order_relaxed)) return;
      to = Find(caller);
      none.store(to == nullptr, std::memory_order_relaxed);
      if (to == nullptr) return;
    }
    reinterpret_cast<Report>(to)(p, bytes, allocated, reserved, device);
  }
};

}  // namespace

bool HearsTorch() {
  const bool found = Entry<kName>::real.load(std::memory_order_relaxed) != nullptr ||
                     Entry<kOldName>::real.load(std::memory_order_relaxed) != nullptr;
  return found && Hears();
}

void FindTorch() {
  Entry<kName>::Find(nullptr);
  Entry<kOldName>::Find(nullptr);
  FindWrappers();
}

extern "C" {
__attribute__((visibility("default"))) void vramspan_ReportMemoryUsage(
    void* p, int64_t bytes, uint64_t allocated, uint64_t reserved,
    TorchDevice device) __asm__("_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE");
void vramspan_ReportMemoryUsage(void* p, int64_t bytes, uint64_t allocated, uint64_t reserved,
                                TorchDevice device) {
  Entry<kName>::Call(__builtin_return_address(0), p, bytes, allocated, reserved, device);
}
__attribute__((visibility("default"))) void vramspan_ReportMemoryUsageOld(
    void* p, int64_t bytes, uint64_t allocated, uint64_t reserved,
    TorchDevice device) __asm__("_ZN3c1027reportMemoryUsageToProfilerEPvlllNS_6DeviceE");
void vramspan_ReportMemoryUsageOld(void* p, int64_t bytes, uint64_t allocated, uint64_t reserved,
                                   TorchDevice device) {
  Entry<kOldName>::Call(__builtin_return_address(0), p, bytes, allocated, reserved, device);
}
}

}  // namespace vramspan::preload
