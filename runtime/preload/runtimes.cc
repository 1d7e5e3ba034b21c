#include "runtime/preload/runtimes.h"

#include <absl/strings/str_cat.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <exception>
#include <memory>
#include <string>

#include "runtime/api/statistics_text.h"
#include "runtime/base/log.h"
#include "runtime/base/own_calls.h"
#include "runtime/base/own_process.h"
#include "runtime/base/presence.h"
#include "runtime/preload/allocated.h"
#include "runtime/preload/aside.h"
#include "runtime/preload/between_devices.h"
#include "runtime/preload/capacity.h"
#include "runtime/preload/foreign.h"
#include "runtime/preload/graphs.h"
#include "runtime/preload/hook_scope.h"
#include "runtime/preload/ipc.h"
#include "runtime/preload/launch.h"
#include "runtime/preload/peers.h"
#include "runtime/preload/process.h"
#include "runtime/preload/resolver.h"
#include "runtime/preload/stream_ordered.h"
#include "runtime/preload/vmm_table.h"

namespace vramspan::preload {
namespace {

// A hook that takes longer waits for something that may not come.
constexpr std::chrono::seconds kUsePatience{5};

// Read without the lock: the context and the range say whose it is, the runtime is set first. Who
// is to use the runtime is counted before he reads it.
struct Entry {
  std::atomic<CUcontext> context{nullptr};
  std::atomic<uint64_t> begin{0}, end{0};
  std::atomic<Runtime*> runtime{nullptr};
  std::atomic<bool> taken{false};  // The device has had its try.
  Presence users;
};

// By device. Never taken apart: calls may come until the process is gone.
struct State {
  Mutex leaving;  // Held through LeaveToDriver; before `mu`.
  Mutex mu;
  std::array<Entry, kMostDevices> entries;
  std::atomic<size_t> count{0};  // Entries from here on were never used.
  std::atomic<bool> exiting{false};
  std::atomic<bool> said_most{false};  // That there are more devices than kMostDevices.
  std::atomic<bool> refused{false};    // See AllocationsRefused.
  std::atomic<bool> left{false};       // See LeaveToDriver.
  OwnProcess process;                  // That has made the first.
};

State& TheState() {
  static State* const state = new State;
  return *state;
}

// The process ends. Before recordings do: what moves from here on would be counted and not
// recorded.
void WriteAllStatistics() {
  State& state = TheState();
  if (!state.process.Ends()) return;
  state.exiting.store(true, std::memory_order_release);
  const OwnCalls own;
  for (Entry& e : state.entries) {
    Runtime* const runtime = e.runtime.load(std::memory_order_acquire);
    if (runtime == nullptr) continue;
    runtime->EndRecordedMoves();
    const vramspanStatistics statistics = runtime->Statistics();
    runtime->TellSpill(statistics);
    const Status written = WriteStatistics(
        statistics, {.passed = CountedMemory(), .kernels = Tracing::Kernels(kKernelsTold)});
    if (!written.ok()) Log(LogLevel::kWarning, written.message());
  }
}

// After them. The driver goes next, and what the mover meets then is of no interest.
void Hush() {
  if (TheState().process.Ends()) SetLogThreshold(LogLevel::kOff);
}

StatusOr<std::unique_ptr<Runtime>> MakeRuntime() {
  const std::string driver = DriverPath();
  if (driver.empty()) return absl::InternalError("the driver's library cannot be found");
  Driver::FindSymbolsWith(&LoaderSymbol);
  Tracing::OfferHooks(&StartWatching);
  // What is wrong with it is said now, and not only where the program asks for its memory.
  static_cast<void>(ReportsDevice());
  vramspanConfig config{};
  config.struct_size = sizeof(config);
  config.driver = driver.c_str();
  if (Quiet()) config.flags |= VRAMSPAN_CONFIG_QUIET;
  try {
    return Runtime::Create(&config);
  } catch (const std::exception& e) {
    return absl::InternalError(e.what());
  }
}

Runtime* Make(CUcontext context) {
  State& state = TheState();
  MutexLock lock(state.mu);
  if (Off() || state.left.load(std::memory_order_relaxed)) return nullptr;
  const auto get_device = DriverFunction<decltype(&::cuCtxGetDevice)>("cuCtxGetDevice");
  CUdevice device = 0;
  if (get_device == nullptr || get_device(&device) != CUDA_SUCCESS) return nullptr;
  if (device < 0 || static_cast<size_t>(device) >= kMostDevices) {
    if (device >= 0 && !state.said_most.exchange(true)) {
      StandAside(absl::StrCat("on device ", device),
                 absl::StrCat("only ", kMostDevices, " devices can have a runtime"));
    }
    return nullptr;
  }
  Entry& e = state.entries[static_cast<size_t>(device)];
  if (e.taken.load(std::memory_order_relaxed)) {
    const bool same = e.context.load(std::memory_order_relaxed) == context;
    return same ? e.runtime.load(std::memory_order_relaxed) : nullptr;
  }
  e.taken.store(true, std::memory_order_relaxed);
  if (state.process.None()) {
    state.process = OwnProcess::This();
    std::atexit(&Hush);
  }
  StatusOr<std::unique_ptr<Runtime>> made = MakeRuntime();
  if (!made.ok() && LeaseBudgets::Required()) {
    Log(LogLevel::kError, absl::StrCat("the program gets no memory of device ", device, ": ",
                                       made.status().message()));
    state.refused.store(true, std::memory_order_release);
    return nullptr;
  }
  if (!made.ok()) {
    StandAside(absl::StrCat("on device ", device), made.status().message());
    return nullptr;
  }
  // Once the runtime's own are registered: the last one runs first.
  static const int registered = std::atexit(&WriteAllStatistics);
  static_cast<void>(registered);
  const PageMap& map = (*made)->memory().page_map();
  Runtime* const runtime = made->release();
  e.runtime.store(runtime, std::memory_order_release);
  e.begin.store(map.base().value, std::memory_order_release);
  e.end.store((map.base() + map.size()).value, std::memory_order_release);
  e.context.store(context, std::memory_order_release);
  if (static_cast<size_t>(device) >= state.count.load(std::memory_order_relaxed)) {
    state.count.store(static_cast<size_t>(device) + 1, std::memory_order_release);
  }
  CountDevices();
  // Who enables access from here on finds it; what was enabled before is found here.
  GrantPeers(runtime, context);
  HookScope::Use(static_cast<size_t>(device));
  return runtime;
}

// The state's lock is held by the caller, through the wait for the hooks that use the runtime: no
// other runtime is made or ended meanwhile.
void End(size_t device) {
  Entry* const e = &TheState().entries[device];
  Runtime* const runtime = e->runtime.load(std::memory_order_relaxed);
  e->context.store(nullptr, std::memory_order_release);
  e->begin.store(0, std::memory_order_release);
  e->end.store(0, std::memory_order_release);
  e->runtime.store(nullptr, std::memory_order_seq_cst);
  e->taken.store(false, std::memory_order_relaxed);
  if (runtime == nullptr) return;
  const OwnCalls own;
  HookScope::LetGoOf(device);
  runtime->StopHolding();
  const bool unused = e->users.AwaitLeft(kUsePatience);
  const PageMap& map = runtime->memory().page_map();
  ForgetAllExported(map.base().value, map.size());
  RemoveAllAllocated(map.base().value, map.size());
  EndStreamOrdered(runtime);
  ForgetVmmOf(runtime);
  ForgetLowered(runtime);
  std::unique_ptr<Runtime> owned(runtime);
  Status ended = absl::DeadlineExceededError("a call that uses it has not returned");
  if (unused) ended = Runtime::End(&owned);
  if (ended.ok()) return;
  // For that thread. The driver takes the context, and what is left are addresses and host memory.
  static_cast<void>(owned.release());
  Log(LogLevel::kWarning,
      absl::StrCat("the memory of a context of device ", device,
                   " is not given back when the context ends: ", ended.message()));
}

// The runtime of the entry, to be used until the hook returns, where `is` holds of it.
template <typename Is>
Runtime* Use(size_t device, Is is) {
  const Entry& e = TheState().entries[device];
  if (!is(e)) return nullptr;
  const bool counted = HookScope::Use(device);
  Runtime* const runtime = is(e) ? e.runtime.load(std::memory_order_seq_cst) : nullptr;
  if (runtime == nullptr && counted) HookScope::LetGoOf(device);
  return runtime;
}

template <typename Is>
Runtime* Find(Is is) {
  const size_t count = TheState().count.load(std::memory_order_acquire);
  for (size_t i = 0; i < count; ++i) {
    if (Runtime* const runtime = Use(i, is)) return runtime;
  }
  return nullptr;
}

}  // namespace

void HookScope::Hold(size_t device) {
  sides_ = (sides_ & ~(uint32_t{1} << device)) | TheState().entries[device].users.Enter() << device;
  held_ |= uint32_t{1} << device;
}

void HookScope::LetGo(uint32_t devices) {
  static_assert(kMostDevices <= 32);
  held_ &= ~devices;
  for (size_t i = 0; devices != 0; ++i, devices >>= 1) {
    if ((devices & 1) != 0) TheState().entries[i].users.Leave(sides_ >> i & 1);
  }
}

Runtime* RuntimeForAllocation() {
  if (!Ready() || LeftToDriver()) return nullptr;
  const OwnCalls own;
  const CUcontext context = CurrentContext();
  if (context == nullptr) return nullptr;
  Runtime* const runtime = RuntimeOfContext(context);
  return runtime != nullptr ? runtime : Make(context);
}

bool AllocationsRefused() { return TheState().refused.load(std::memory_order_acquire); }

Runtime* RuntimeOfContext(CUcontext context) {
  if (!Ready() || context == nullptr) return nullptr;
  return Find([&](const Entry& e) { return e.context.load(std::memory_order_acquire) == context; });
}

Runtime* RuntimeOf(CUdeviceptr p) {
  if (!Ready()) return nullptr;
  return Find([&](const Entry& e) {
    return p >= e.begin.load(std::memory_order_acquire) &&
           p < e.end.load(std::memory_order_acquire);
  });
}

Runtime* RuntimeOfDevice(CUdevice device) {
  if (!Ready() || device < 0 || static_cast<size_t>(device) >= kMostDevices) return nullptr;
  return Use(static_cast<size_t>(device),
             [](const Entry& e) { return e.runtime.load(std::memory_order_acquire) != nullptr; });
}

void EndRuntime(CUcontext context) {
  if (!Ready() || context == nullptr) return;
  State& state = TheState();
  if (state.exiting.load(std::memory_order_acquire)) return;
  graphs::ForgetContext(context);
  MutexLock lock(state.mu);
  for (size_t i = 0; i < state.entries.size(); ++i) {
    if (state.entries[i].context.load(std::memory_order_relaxed) == context) End(i);
  }
}

void EndRuntimeOfPrimary(CUdevice device) {
  if (RuntimeOfDevice(device) != nullptr) WithPrimary(device, &EndRuntime);
}

void WithPrimary(CUdevice device, void (*call)(CUcontext)) {
  const auto retain =
      DriverFunction<decltype(&::cuDevicePrimaryCtxRetain)>("cuDevicePrimaryCtxRetain");
  const auto release =
      DriverFunction<decltype(&::cuDevicePrimaryCtxRelease_v2)>("cuDevicePrimaryCtxRelease_v2");
  CUcontext primary = nullptr;
  if (retain == nullptr || release == nullptr || retain(&primary, device) != CUDA_SUCCESS) return;
  call(primary);
  release(device);
}

void LeaveToDriver(const char* why) {
  State& state = TheState();
  if (!Ready()) return;
  const OwnCalls own;
  // Whoever comes meanwhile waits, too.
  MutexLock one(state.leaving);
  if (state.left.exchange(true, std::memory_order_acq_rel)) return;
  if (LeaseBudgets::Required()) {
    state.refused.store(true, std::memory_order_release);
    Log(LogLevel::kError, absl::StrCat("the program gets no more memory: ", why,
                                       ", so no broker could share out what it uses"));
  }
  bool any = false;
  {
    MutexLock lock(state.mu);
    for (const Entry& e : state.entries)
      any |= e.runtime.load(std::memory_order_relaxed) != nullptr;
  }
  if (any) {
    if (!Tracing::Get().StopSeeing(why)) {
      Log(LogLevel::kError, absl::StrCat("memory still moves, though ", why));
    }
  } else {
    StandAside("in this process", why);
  }
}

bool LeftToDriver() { return TheState().left.load(std::memory_order_acquire); }

bool LeaveToProgram() {
  State& state = TheState();
  MutexLock lock(state.mu);
  for (const Entry& e : state.entries) {
    if (e.runtime.load(std::memory_order_relaxed) != nullptr) return false;
  }
  TurnOff("the program has runtimes of its own");
  return true;
}

}  // namespace vramspan::preload

// Called by the libvramspan that a program is linked with (runtime/api/beside_preload.h). 0: its
// runtimes may be made.
extern "C" __attribute__((visibility("default"))) int vramspanPreloadStandAside() {
  return vramspan::preload::LeaveToProgram() ? 0 : 1;
}
