#include "runtime/preload/resolver.h"

#include <absl/strings/str_cat.h>
#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "runtime/base/log.h"
#include "runtime/preload/behind_stub.h"
#include "runtime/preload/cupti_hooks.h"
#include "runtime/preload/dl_function.h"
#include "runtime/preload/elf_symbols.h"
#include "runtime/preload/hook.h"
#include "runtime/preload/not_for_musl.h"
#include "runtime/preload/nvml.h"
#include "runtime/preload/optix.h"
#include "runtime/preload/process.h"
#include "runtime/preload/table.h"

namespace vramspan::preload {
namespace {

using DlsymFunction = void* (*)(void*, const char*);
using DlvsymFunction = void* (*)(void*, const char*, const char*);

#if defined(__x86_64__)
constexpr const char* kOldestGlibc = "GLIBC_2.2.5";
#else
constexpr const char* kOldestGlibc = "GLIBC_2.17";
#endif

// A function of the library that comes next, or of the C library itself.
void* NextLoaderFunction(const char* name, const char* beside) {
  for (const char* version : {"GLIBC_2.34", kOldestGlibc}) {
    if (void* function = NextExport(name, version, beside)) return function;
  }
  return nullptr;
}

// The driver of this process, once it is loaded. Made as a whole and published at once.
struct LoadedDriver {
  void* library = nullptr;
  // By hook: as dlsym answers them, be it with another preload's hook, and the driver's own.
  std::vector<void*> real, own;
  std::vector<std::pair<void*, size_t>> by_address;  // Sorted, of both.
};
constinit std::atomic<const LoadedDriver*> loaded_driver{nullptr};

}  // namespace

// Where the exported dlsym and dlvsym go on to.
extern "C" {
__attribute__((visibility("hidden"))) constinit std::atomic<DlsymFunction> vramspan_next_dlsym{
    nullptr};
__attribute__((visibility("hidden"))) constinit std::atomic<DlvsymFunction> vramspan_next_dlvsym{
    nullptr};
}

namespace {

// The dlsym that would be called without this library: another preload's, or the C library's.
DlsymFunction NextDlsym() {
  DlsymFunction next = vramspan_next_dlsym.load(std::memory_order_acquire);
  if (next == nullptr) {
    next = reinterpret_cast<DlsymFunction>(NextLoaderFunction("dlsym", nullptr));
    vramspan_next_dlsym.store(next, std::memory_order_release);
  }
  return next;
}

DlvsymFunction NextDlvsym() {
  DlvsymFunction next = vramspan_next_dlvsym.load(std::memory_order_acquire);
  if (next == nullptr) {
    next = reinterpret_cast<DlvsymFunction>(NextLoaderFunction("dlvsym", nullptr));
    vramspan_next_dlvsym.store(next, std::memory_order_release);
  }
  return next;
}

const LoadedDriver* FindDriver() {
  if (const LoadedDriver* d = loaded_driver.load(std::memory_order_acquire)) return d;
  auto made = std::make_unique<LoadedDriver>();
  made->library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  if (made->library == nullptr) return nullptr;
  for (size_t id = 0; id < HookCount(); ++id) {
    void* const real = NextDlsym()(made->library, Hook(id).symbol);
    void* const own = LoaderSymbol(made->library, Hook(id).symbol);
    made->real.push_back(real);
    made->own.push_back(own);
    if (own != nullptr) made->by_address.emplace_back(own, id);
    if (real != nullptr && real != own) made->by_address.emplace_back(real, id);
  }
  std::sort(made->by_address.begin(), made->by_address.end());
  for (size_t id = 0; id < HookCount(); ++id) {
    real_functions[id].asked.store(made->real[id], std::memory_order_relaxed);
  }
  const LoadedDriver* expected = nullptr;
  if (!loaded_driver.compare_exchange_strong(expected, made.get(), std::memory_order_acq_rel)) {
    return expected;  // Another thread was faster, and found the same.
  }
  return made.release();
}

// The hook of a function that cuGetProcAddress answered, or the function itself. Where the driver
// exports one function under several names, the name that was asked for decides.
void* Replace(const char* symbol, void* function, int version) {
  const LoadedDriver* driver = FindDriver();
  if (driver == nullptr || Off()) return function;
  size_t best = kNoHook;
  const auto fits = [&](size_t id) {
    return std::strcmp(Hook(id).base, symbol) == 0 && Hook(id).version <= version;
  };
  auto it = std::lower_bound(driver->by_address.begin(), driver->by_address.end(),
                             std::make_pair(function, size_t{0}));
  for (; it != driver->by_address.end() && it->first == function; ++it) {
    const size_t id = it->second;
    if (best == kNoHook || (fits(id) && (!fits(best) || Hook(id).version > Hook(best).version))) {
      best = id;
    }
  }
  if (best != kNoHook) return Hook(best).asked();
  if (LogThreshold() >= LogLevel::kInfo && !IsOwnCode(function)) {
    for (size_t id = 0; id < HookCount(); ++id) {
      if (!fits(id)) continue;
      Log(LogLevel::kInfo,
          absl::StrCat(
              "calls of ", symbol, " (CUDA ", version,
              ") are not caught, because the driver exports the function under an unknown name"));
      break;
    }
  }
  return function;
}

// What dlsym or dlvsym is to answer. Not `decided`: what the next one says.
struct Answer {
  void* value;
  size_t decided;
};

template <typename Lookup>
Answer AnswerForNvml(void* handle, const char* name, Lookup lookup) {
  constexpr Answer kPass{nullptr, 0};
  if (handle == RTLD_NEXT || Off()) return kPass;
  void* function = handle == RTLD_DEFAULT ? nullptr : lookup();
  if (handle == RTLD_DEFAULT || (function != nullptr && IsOwnCode(function))) {
    // Ours is the first that the loader sees: there is one only where another library has it.
    return LoaderSymbol(RTLD_NEXT, name) != nullptr ? kPass : Answer{nullptr, 1};
  }
  return function != nullptr ? Answer{NvmlHook(name, function), 1} : kPass;
}

// As AnswerForNvml. What the tracer looks up for itself is of the CUPTI that it has opened.
template <typename Lookup>
Answer AnswerForCupti(void* handle, const char* name, Lookup lookup) {
  constexpr Answer kPass{nullptr, 0};
  if (handle == RTLD_NEXT || Off() || OwnCalls::Now()) return kPass;
  void* function = handle == RTLD_DEFAULT ? nullptr : lookup();
  if (handle == RTLD_DEFAULT || (function != nullptr && IsOwnCode(function))) {
    return LoaderSymbol(RTLD_NEXT, name) != nullptr ? kPass : Answer{nullptr, 1};
  }
  return function != nullptr ? Answer{CuptiHook(name, function), 1} : kPass;
}

// Where a library is named: that is how OptiX is looked up.
template <typename Lookup>
Answer AnswerForOptix(void* handle, Lookup lookup) {
  constexpr Answer kPass{nullptr, 0};
  if (handle == RTLD_NEXT || handle == RTLD_DEFAULT || Off()) return kPass;
  void* const function = lookup();
  return function != nullptr ? Answer{OptixHook(function), 1} : kPass;
}

// Ours are meant by nobody who asks. Where no library is named the program's is asked, whose
// symbols are the same: for us RTLD_DEFAULT begins with ourselves.
template <typename Lookup>
Answer AnswerForMusl(void* handle, const char* name, Lookup lookup) {
  if (handle == RTLD_NEXT) return {nullptr, 0};
  void* found = handle == RTLD_DEFAULT ? LoaderSymbol(dlopen(nullptr, RTLD_LAZY), name) : lookup();
  if (IsForMusl(found)) found = LoaderSymbol(RTLD_NEXT, name);
  return {found, 1};
}

template <typename Lookup>
Answer AnswerFor(void* handle, const char* name, Lookup lookup) {
  constexpr Answer kPass{nullptr, 0};
  if (name == nullptr) return kPass;
  if ((name[0] == 's' || name[0] == '_') && IsForMusl(name)) {
    return AnswerForMusl(handle, name, lookup);
  }
  if (name[0] == 'n' && IsNvmlHooked(name)) return AnswerForNvml(handle, name, lookup);
  if (name[0] == 'o' && IsOptixHooked(name)) return AnswerForOptix(handle, lookup);
  if (name[0] != 'c' || name[1] != 'u') return kPass;
  if (IsCuptiHooked(name)) return AnswerForCupti(handle, name, lookup);
  // Who looks for the next one after itself is a preload as we are, and must not come back to us.
  if (handle == RTLD_NEXT) return kPass;
  const size_t id = FindHook(name);
  if (id == kNoHook || Off()) return kPass;
  // To the loader this library is the first that has the function; where no other has it, there is
  // none.
  const auto bound = [&]() -> Answer {
    if (FindBound(id) != nullptr) return kPass;
    LoaderSymbol(RTLD_NEXT, name);  // Leaves the error for dlerror.
    return {nullptr, 1};
  };
  if (handle == RTLD_DEFAULT) return bound();
  void* function = lookup();
  if (function == nullptr) return kPass;
  if (IsOwnCode(function)) return bound();
  const LoadedDriver* driver = FindDriver();
  const bool ours =
      driver != nullptr && (driver->real[id] == function || driver->own[id] == function);
  dlerror();  // What the search for the driver may have left.
  return ours ? Answer{Hook(id).asked(), 1} : Answer{function, 1};
}

}  // namespace

extern "C" __attribute__((visibility("hidden"), used)) Answer vramspan_answer_dlsym(
    void* handle, const char* name) {
  const DlsymFunction next = NextDlsym();
  return AnswerFor(handle, name, [&] { return next(handle, name); });
}

extern "C" __attribute__((visibility("hidden"), used)) Answer vramspan_answer_dlvsym(
    void* handle, const char* name, const char* version) {
  const DlvsymFunction next = NextDlvsym();
  return AnswerFor(handle, name, [&] { return next(handle, name, version); });
}

void* FindBound(size_t id) {
  void* function = LoaderSymbol(RTLD_NEXT, Hook(id).symbol);
  if (function == nullptr) {
    if (const LoadedDriver* driver = FindDriver()) function = driver->real[id];
    dlerror();
  }
  if (function != nullptr) real_functions[id].bound.store(function, std::memory_order_relaxed);
  return function;
}

std::string DriverPath() {
  const LoadedDriver* driver = FindDriver();
  link_map* map = nullptr;
  if (driver == nullptr || dlinfo(driver->library, RTLD_DI_LINKMAP, &map) != 0) return {};
  return map->l_name;
}

void* LoaderSymbol(void* library, const char* name) {
  if (library == RTLD_NEXT && BehindStub()) return AfterStub(name);
  static constinit std::atomic<DlsymFunction> function{nullptr};
  DlsymFunction dlsym_itself = function.load(std::memory_order_acquire);
  if (dlsym_itself == nullptr) {
    dlsym_itself =
        reinterpret_cast<DlsymFunction>(NextLoaderFunction("dlsym", "gnu_get_libc_version"));
    // Before glibc 2.34 it is in a library of its own.
    if (dlsym_itself == nullptr) dlsym_itself = NextDlsym();
    function.store(dlsym_itself, std::memory_order_release);
  }
  return dlsym_itself(library, name);
}

void* DriverSymbol(const char* name) {
  const LoadedDriver* driver = FindDriver();
  return driver != nullptr ? LoaderSymbol(driver->library, name) : nullptr;
}

CUresult GetProcAddress(decltype(&::cuGetProcAddress) real, const char* symbol, void** function,
                        int version, cuuint64_t flags) {
  const CUresult result = real(symbol, function, version, flags);
  if (result == CUDA_SUCCESS && *function != nullptr) {
    *function = Replace(symbol, *function, version);
  }
  return result;
}

CUresult GetProcAddressV2(decltype(&::cuGetProcAddress_v2) real, const char* symbol,
                          void** function, int version, cuuint64_t flags,
                          CUdriverProcAddressQueryResult* status) {
  const CUresult result = real(symbol, function, version, flags, status);
  if (result == CUDA_SUCCESS && *function != nullptr) {
    *function = Replace(symbol, *function, version);
  }
  return result;
}

}  // namespace vramspan::preload

VS_DL_FUNCTION(dlsym);
VS_DL_FUNCTION(dlvsym);
