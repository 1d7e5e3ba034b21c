// The functions of include/vramspan/frameworks.h and process.h: the runtimes of the allocators, one
// a device. No exception crosses this edge.
#include "include/vramspan/frameworks.h"

#include <absl/strings/str_cat.h>

#include <array>
#include <exception>
#include <memory>
#include <optional>

#include "include/vramspan/process.h"
#include "runtime/api/beside_preload.h"
#include "runtime/api/found_runtime.h"
#include "runtime/api/runtime.h"
#include "runtime/base/log.h"
#include "runtime/base/mutex.h"
#include "runtime/base/own_calls.h"
#include "runtime/base/own_process.h"

namespace vramspan {
namespace {

constexpr int kMostDevices = 64;

// Left alone at the end: a framework may free from its last destructors.
struct Devices {
  const OwnProcess process = OwnProcess::This();
  Mutex mu;
  std::array<std::optional<StatusOr<std::unique_ptr<Runtime>>>, kMostDevices> runtimes
      VS_GUARDED_BY(mu);
};

Devices& TheDevices() {
  static Devices* const devices = new Devices;
  return *devices;
}

StatusOr<std::unique_ptr<Runtime>> MakeRuntime(int device) {
  VS_RETURN_IF_ERROR(HavePreloadStandAside());
  VS_ASSIGN_OR_RETURN(const std::shared_ptr<const Driver> driver, Driver::Load());
  CUdevice handle = 0;
  VS_RETURN_IF_ERROR(
      Check((*driver)->DeviceGet(&handle, device), "cuDeviceGet", absl::StrCat(device)));
  CUcontext context = nullptr;
  // Kept for the life of the process, as the runtime is.
  VS_RETURN_IF_ERROR(Check((*driver)->DevicePrimaryCtxRetain(&context, handle),
                           "cuDevicePrimaryCtxRetain", absl::StrCat("of device ", device)));
  ScopedContext current(*driver, context);
  VS_RETURN_IF_ERROR(current.status());
  return Runtime::Create(nullptr);
}

// A device that has no runtime is not asked again, and is told of once.
StatusOr<Runtime*> RuntimeOf(int device) {
  if (device < 0 || device >= kMostDevices) {
    return absl::InvalidArgumentError(absl::StrCat("there is no device ", device));
  }
  Devices& devices = TheDevices();
  if (!devices.process.Here()) {
    return absl::UnavailableError("vramspan gives no memory in a child of fork");
  }
  MutexLock lock(devices.mu);
  auto& runtime = devices.runtimes[static_cast<size_t>(device)];
  if (!runtime.has_value()) {
    runtime.emplace(MakeRuntime(device));
    if (!runtime->ok()) {
      Log(LogLevel::kError, absl::StrCat("device ", device, " gets no memory of vramspan: ",
                                         runtime->status().message()));
    }
  }
  if (!runtime->ok()) return runtime->status();
  return (*runtime)->get();
}

// The first runtime that was made and of which `is` holds; null where there is none.
template <typename Is>
Runtime* FindMade(Is is) {
  Devices& devices = TheDevices();
  if (!devices.process.Here()) return nullptr;
  MutexLock lock(devices.mu);
  for (size_t i = 0; i < devices.runtimes.size(); ++i) {
    auto& runtime = devices.runtimes[i];
    if (runtime.has_value() && runtime->ok() && is(static_cast<int>(i), ***runtime)) {
      return (*runtime)->get();
    }
  }
  return nullptr;
}

Runtime* MadeFor(CUdeviceptr ptr) {
  return FindMade([&](int, Runtime& r) { return r.memory().Find(DevicePtr(ptr)).ok(); });
}

void* Allocate(size_t size, int device) {
  if (size == 0) return nullptr;
  const OwnCalls own;
  try {
    const StatusOr<Runtime*> runtime = RuntimeOf(device);
    if (!runtime.ok()) return nullptr;
    const StatusOr<DevicePtr> p = (*runtime)->Allocate(Bytes(size));
    if (p.ok()) return reinterpret_cast<void*>(p->value);
    Log(LogLevel::kError, p.status().message());
  } catch (const std::exception& e) {
    Log(LogLevel::kError, e.what());
  }
  return nullptr;
}

void Free(void* ptr, int device) {
  if (ptr == nullptr) return;
  const OwnCalls own;
  try {
    const StatusOr<Runtime*> runtime = RuntimeOf(device);
    if (!runtime.ok()) return;
    const Status status = (*runtime)->Free(DevicePtr(reinterpret_cast<uintptr_t>(ptr)));
    if (!status.ok()) Log(LogLevel::kError, status.message());
  } catch (const std::exception& e) {
    Log(LogLevel::kError, e.what());
  }
}

}  // namespace
}  // namespace vramspan

extern "C" {

void* vramspan_torch_malloc(ssize_t size, int device, void*) {
  return size <= 0 ? nullptr : vramspan::Allocate(static_cast<size_t>(size), device);
}

void vramspan_torch_free(void* ptr, ssize_t, int device, void*) { vramspan::Free(ptr, device); }

void* vramspan_cupy_malloc(void*, size_t size, int device) {
  return vramspan::Allocate(size, device);
}

void vramspan_cupy_free(void*, void* ptr, int device) { vramspan::Free(ptr, device); }

CUresult vramspanProcessStatistics(int device, vramspanStatistics* out) {
  vramspan::Runtime* const made =
      vramspan::FindMade([&](int at, vramspan::Runtime&) { return at == device; });
  return vramspan::StatisticsOfFound(made, device, out);
}

CUresult vramspanProcessPin(CUdeviceptr ptr, size_t size) {
  return vramspan::PinInFound(vramspan::MadeFor(ptr), ptr, size);
}

CUresult vramspanProcessUnpin(CUdeviceptr ptr, size_t size) {
  return vramspan::UnpinInFound(vramspan::MadeFor(ptr), ptr, size);
}

CUresult vramspanProcessPrefetch(CUdeviceptr ptr, size_t size, vramspanLocation to,
                                 CUstream stream) {
  return vramspan::PrefetchInFound(vramspan::MadeFor(ptr), ptr, size, to, stream);
}

CUresult vramspanProcessDiscard(CUdeviceptr ptr, size_t size, CUstream stream) {
  return vramspan::DiscardInFound(vramspan::MadeFor(ptr), ptr, size, stream);
}

}  // extern "C"
