#include "runtime/preload/nvml.h"

#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <cstdio>
#include <cstring>
#include <string>

#include "runtime/base/own_calls.h"
#include "runtime/preload/capacity.h"
#include "runtime/preload/hook_scope.h"
#include "runtime/preload/process.h"
#include "runtime/preload/resolver.h"
#include "runtime/preload/runtimes.h"

namespace vramspan::preload {
namespace {

// As nvml.h has them; the toolkit need not be installed with it.
using NvmlDevice = struct NvmlDeviceSt*;
using NvmlReturn = int;
constexpr NvmlReturn kNvmlSuccess = 0;
constexpr NvmlReturn kNvmlLibraryNotFound = 12;
struct NvmlMemory {
  unsigned long long total, free, used;
};
struct NvmlMemoryV2 {
  unsigned version;
  unsigned long long total, reserved, free, used;
};

constexpr char kName[] = "nvmlDeviceGetMemoryInfo";
constexpr char kNameV2[] = "nvmlDeviceGetMemoryInfo_v2";

void* LoadedNvml() {
  static constinit std::atomic<void*> library{nullptr};
  void* found = library.load(std::memory_order_acquire);
  if (found == nullptr) {
    found = dlopen("libnvidia-ml.so.1", RTLD_LAZY | RTLD_NOLOAD);
    library.store(found, std::memory_order_release);
  }
  return found;
}

// "GPU-8a0cf0d5-…" or "MIG-…", of which the driver knows the digits.
bool SameDevice(const char* text, const CUuuid& uuid) {
  const char* digits = std::strchr(text, '-');
  if (digits == nullptr) return false;
  std::string wanted, found;
  for (const char byte : uuid.bytes) {
    char hex[3];
    std::snprintf(hex, sizeof(hex), "%02x", static_cast<unsigned char>(byte));
    wanted += hex;
  }
  for (; *digits != '\0'; ++digits) {
    if (*digits != '-') found += static_cast<char>(std::tolower(*digits));
  }
  return found == wanted;
}

// The device that NVML's handle means, among those that have a runtime; -1 for none.
CUdevice DeviceOf(NvmlDevice handle) {
  using GetUuid = NvmlReturn (*)(NvmlDevice, char*, unsigned);
  void* const library = LoadedNvml();
  if (!Ready() || library == nullptr) return -1;
  char text[96] = "";
  for (CUdevice d = 0; static_cast<size_t>(d) < kMostDevices; ++d) {
    Runtime* const runtime = RuntimeOfDevice(d);
    if (runtime == nullptr) continue;
    if (*text == '\0') {
      const auto get = reinterpret_cast<GetUuid>(LoaderSymbol(library, "nvmlDeviceGetUUID"));
      if (get == nullptr || get(handle, text, sizeof(text)) != kNvmlSuccess) return -1;
    }
    CUuuid uuid{};
    if ((*runtime->driver())->DeviceGetUuid(&uuid, d) != CUDA_SUCCESS) return -1;
    if (SameDevice(text, uuid)) return d;
  }
  return -1;
}

NvmlReturn MemoryInfo(NvmlReturn (*real)(NvmlDevice, NvmlMemory*), NvmlDevice handle,
                      NvmlMemory* memory) {
  const OwnCalls own;
  const CUdevice device = memory != nullptr ? DeviceOf(handle) : -1;
  if (device < 0) return real(handle, memory);
  NvmlReturn result = kNvmlSuccess;
  const auto ask = [&](Capacity* said) {
    NvmlMemory m{};
    result = real(handle, &m);
    *said = {m.free, m.total};
    return result == kNvmlSuccess;
  };
  Capacity seen;
  if (!ReportedCapacity(device, ask, &seen)) return result;
  *memory = {seen.total, seen.free, seen.total - seen.free};
  return result;
}

NvmlReturn MemoryInfoV2(NvmlReturn (*real)(NvmlDevice, NvmlMemoryV2*), NvmlDevice handle,
                        NvmlMemoryV2* memory) {
  const OwnCalls own;
  const CUdevice device = memory != nullptr ? DeviceOf(handle) : -1;
  if (device < 0) return real(handle, memory);
  NvmlReturn result = kNvmlSuccess;
  NvmlMemoryV2 m{};
  const auto ask = [&](Capacity* said) {
    m = {};
    m.version = memory->version;
    result = real(handle, &m);
    *said = {m.free, m.total};
    return result == kNvmlSuccess;
  };
  Capacity seen;
  if (!ReportedCapacity(device, ask, &seen)) return result;
  m.total = seen.total;
  m.reserved = std::min<unsigned long long>(m.reserved, seen.total);
  m.free = std::min<unsigned long long>(seen.free, seen.total - m.reserved);
  m.used = m.total - m.reserved - m.free;
  *memory = m;
  return result;
}

// One entry point, for each way in which a program comes to it: see hook.h.
template <auto kHook, const char* kSymbol, typename Memory>
struct Entry {
  using Function = NvmlReturn (*)(NvmlDevice, Memory*);
  static inline constinit std::atomic<void*> asked{nullptr};

  static NvmlReturn Asked(NvmlDevice handle, Memory* memory) {
    const HookScope scope;
    return kHook(reinterpret_cast<Function>(asked.load(std::memory_order_acquire)), handle, memory);
  }
  static NvmlReturn Bound(NvmlDevice handle, Memory* memory) {
    void* real = LoaderSymbol(RTLD_NEXT, kSymbol);
    if (real == nullptr) {
      dlerror();
      if (LoadedNvml() == nullptr) return kNvmlLibraryNotFound;
      real = LoaderSymbol(LoadedNvml(), kSymbol);
    }
    if (real == nullptr) return kNvmlLibraryNotFound;
    const HookScope scope;
    return kHook(reinterpret_cast<Function>(real), handle, memory);
  }
  static void* Answer(void* real) {
    asked.store(real, std::memory_order_release);
    return reinterpret_cast<void*>(&Asked);
  }
};
using Info = Entry<&MemoryInfo, kName, NvmlMemory>;
using InfoV2 = Entry<&MemoryInfoV2, kNameV2, NvmlMemoryV2>;

}  // namespace

bool IsNvmlHooked(std::string_view name) { return name == kName || name == kNameV2; }

void* NvmlHook(std::string_view name, void* real) {
  if (real == nullptr) return nullptr;
  if (name == kName) return Info::Answer(real);
  return name == kNameV2 ? InfoV2::Answer(real) : nullptr;
}

extern "C" {
__attribute__((visibility("default"))) NvmlReturn nvmlDeviceGetMemoryInfo(NvmlDevice handle,
                                                                          NvmlMemory* memory) {
  return Info::Bound(handle, memory);
}
__attribute__((visibility("default"))) NvmlReturn nvmlDeviceGetMemoryInfo_v2(NvmlDevice handle,
                                                                             NvmlMemoryV2* memory) {
  return InfoV2::Bound(handle, memory);
}
}

}  // namespace vramspan::preload
