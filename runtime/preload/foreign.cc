#include "runtime/preload/foreign.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <exception>
#include <thread>

#include "runtime/base/log.h"
#include "runtime/base/mutex.h"
#include "runtime/base/own_calls.h"
#include "runtime/preload/launch.h"
#include "runtime/preload/resolver.h"
#include "runtime/preload/runtimes.h"

namespace vramspan::preload {
namespace {

struct Counter {
  std::atomic<uint64_t> calls{0}, bytes{0};
};
constinit std::array<Counter, static_cast<size_t>(Foreign::kCount)> counters{};

// What is given up at least where nobody says how much is needed: a workspace of a library, say.
constexpr Bytes kLeastStep = MiB(64);
constexpr int kMostSteps = 16;
// Chunks that running work holds cannot be taken from under it; then the driver's answer stands.
constexpr std::chrono::seconds kPatience{2};

// Left to the driver when budgets rise again, for what it allocates without asking by a hook: this
// share of the device, and no more than so much.
constexpr uint64_t kLeftShare = 64;
constexpr Bytes kMostLeft = MiB(256);

// Budgets before they were lowered, by device, until the runtime ends. A runtime that came after
// has its own. Budgets are changed here under the lock, so that none is lowered and raised at once.
struct Lowered {
  Runtime* runtime = nullptr;
  Bytes before;
};
constinit Mutex lowered_mu;
constinit std::array<Lowered, kMostDevices> lowered VS_GUARDED_BY(lowered_mu){};
constinit std::atomic<bool> any_lowered{false};

Bytes Held(Runtime* runtime) {
  const DevicePool& pool = runtime->memory().device_pool();
  return pool.used() + pool.cached();
}

// Lowers the runtime's budget and waits until its memory fits it.
Status Shrink(CUdevice device, Runtime* runtime, Bytes by) {
  const DevicePool& pool = runtime->memory().device_pool();
  Bytes budget;
  {
    MutexLock lock(lowered_mu);
    Lowered& l = lowered[static_cast<size_t>(device)];
    if (l.runtime != runtime) l = {runtime, runtime->DeviceCeiling()};
    const Bytes used = std::min(pool.used(), pool.budget());
    budget = std::max(used > by ? used - by : Bytes(0), kGranularity);
    VS_RETURN_IF_ERROR(runtime->SetDeviceBudget(budget, /*given=*/false));
    any_lowered.store(true, std::memory_order_release);
  }
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (pool.used() > budget && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  return absl::OkStatus();
}

// Raises the runtime's budget to what it was, or to what there is room for. True: to what it was.
bool Grow(Runtime* runtime, Bytes before) {
  const Bytes now = runtime->DeviceCeiling();
  if (now >= before) return true;  // Somebody raised it.
  const Driver& driver = *runtime->memory().shared_driver();
  size_t free = 0, total = 0;
  ScopedContext current(driver, runtime->memory().options().context);
  Status status = current.status();
  if (status.ok()) {
    status = Check(driver->MemGetInfo(&free, &total), "cuMemGetInfo", "for room that came back");
  }
  const Bytes left = std::min(kMostLeft, Bytes(total / kLeftShare));
  const Bytes room = Held(runtime) + (Bytes(free) > left ? Bytes(free) - left : Bytes(0));
  const Bytes budget = std::min(before, room);
  if (status.ok() && budget < now + kLeastStep && budget != before) return false;
  if (status.ok()) status = runtime->SetDeviceBudget(budget, /*given=*/false);
  Log(LogLevel::kInfo,
      status.ok() ? absl::StrCat("the device budget got ", (budget - now).value >> 20, " MiB back")
                  : std::string(status.message()));
  return status.ok() && budget == before;
}

bool GiveBackOf(CUdevice device, Runtime* runtime, Bytes bytes, int step) {
  const Bytes before = Held(runtime);
  DevicePool& pool = runtime->memory().device_pool();
  pool.Trim(Bytes(0));
  if (step == 0 && Held(runtime) < before) return true;
  const Bytes by = std::max({RoundUp(bytes, kGranularity), kLeastStep, Bytes(before.value / 32)});
  const Status status = Shrink(device, runtime, by);
  if (!status.ok()) {
    Log(LogLevel::kInfo, status.message());
    return false;
  }
  pool.Trim(Bytes(0));
  // The mover's threads release what they evict: it is the driver's only when they are done.
  pool.AwaitReleases();
  const Bytes after = Held(runtime);
  if (after < before) {
    Log(LogLevel::kInfo, absl::StrCat("the driver got ", (before - after).value >> 20,
                                      " MiB of device memory back for its own use"));
  }
  return after < before;
}

CUresult Counted(CUresult result, Foreign kind, size_t bytes) {
  if (result == CUDA_SUCCESS) Count(kind, bytes);
  return result;
}

size_t ElementBytes(CUarray_format format) {
  switch (format) {
    case CU_AD_FORMAT_UNSIGNED_INT8:
    case CU_AD_FORMAT_SIGNED_INT8:
      return 1;
    case CU_AD_FORMAT_UNSIGNED_INT16:
    case CU_AD_FORMAT_SIGNED_INT16:
    case CU_AD_FORMAT_HALF:
      return 2;
    default:
      return 4;  // Of others, compressed ones for instance, a guess.
  }
}

template <typename Descriptor>
size_t ArrayBytes(const Descriptor* d) {
  if (d == nullptr) return 0;
  size_t cells = d->Width * std::max<size_t>(d->Height, 1);
  if constexpr (requires { d->Depth; }) cells *= std::max<size_t>(d->Depth, 1);
  return cells * std::max(d->NumChannels, 1u) * ElementBytes(d->Format);
}

// Each level has half the lengths of the one before it; layers stay as many as they are.
size_t MipmappedBytes(const CUDA_ARRAY3D_DESCRIPTOR* d, unsigned levels) {
  if (d == nullptr) return 0;
  CUDA_ARRAY3D_DESCRIPTOR level = *d;
  const bool deep = (d->Flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP)) == 0;
  size_t bytes = ArrayBytes(&level);
  for (unsigned i = 1; i < levels; ++i) {
    const bool last = level.Width <= 1 && level.Height <= 1 && (!deep || level.Depth <= 1);
    if (last) break;
    level.Width = std::max<size_t>(level.Width / 2, 1);
    level.Height /= 2;
    if (deep) level.Depth /= 2;
    bytes += ArrayBytes(&level);
  }
  return bytes;
}

}  // namespace

void Count(Foreign kind, size_t bytes) {
  Counter& c = counters[static_cast<size_t>(kind)];
  c.calls.fetch_add(1, std::memory_order_relaxed);
  c.bytes.fetch_add(bytes, std::memory_order_relaxed);
}

std::vector<PassedMemory> CountedMemory() {
  constexpr std::array kNames = {"managed", "pinned host", "arrays", "its own VMM", "pools"};
  static_assert(kNames.size() == counters.size());
  std::vector<PassedMemory> counted;
  for (size_t i = 0; i < counters.size(); ++i) {
    counted.push_back({kNames[i], counters[i].calls.load(std::memory_order_relaxed),
                       counters[i].bytes.load(std::memory_order_relaxed)});
  }
  return counted;
}

bool GiveBack(size_t bytes, int step) {
  if (step >= kMostSteps) return false;
  const OwnCalls own;
  try {
    CUdevice device = -1;
    if (CurrentContext() != nullptr) {
      const auto get = DriverFunction<decltype(&::cuCtxGetDevice)>("cuCtxGetDevice");
      if (get == nullptr || get(&device) != CUDA_SUCCESS) return false;
    }
    bool any = false;
    for (CUdevice d = 0; static_cast<size_t>(d) < kMostDevices; ++d) {
      if (device >= 0 && d != device) continue;
      Runtime* const runtime = RuntimeOfDevice(d);
      if (runtime != nullptr) any |= GiveBackOf(d, runtime, Bytes(bytes), step);
    }
    return any;
  } catch (const std::exception& e) {
    Log(LogLevel::kError, e.what());
    return false;
  }
}

void TakeBack() {
  if (!any_lowered.load(std::memory_order_acquire)) return;
  const OwnCalls own;
  try {
    MutexLock lock(lowered_mu);
    bool any = false;
    for (size_t d = 0; d < lowered.size(); ++d) {
      Lowered& l = lowered[d];
      if (l.runtime == nullptr) continue;
      const bool lives = RuntimeOfDevice(static_cast<CUdevice>(d)) == l.runtime;
      if (!lives || Grow(l.runtime, l.before)) {
        l = {};
      } else {
        any = true;
      }
    }
    any_lowered.store(any, std::memory_order_release);
  } catch (const std::exception& e) {
    Log(LogLevel::kError, e.what());
  }
}

void ForgetLowered(const Runtime* runtime) {
  MutexLock lock(lowered_mu);
  for (Lowered& l : lowered) {
    if (l.runtime == runtime) l = {};
  }
}

CUresult MemCreate(decltype(&::cuMemCreate) real, CUmemGenericAllocationHandle* handle, size_t size,
                   const CUmemAllocationProp* properties, unsigned long long flags) {
  const auto call = [&] { return real(handle, size, properties, flags); };
  if (properties == nullptr || properties->location.type != CU_MEM_LOCATION_TYPE_DEVICE) {
    return call();
  }
  return Counted(WithRescue(size, call), Foreign::kHandle, size);
}

CUresult MemAllocManaged(decltype(&::cuMemAllocManaged) real, CUdeviceptr* p, size_t size,
                         unsigned flags) {
  if (AllocationsRefused()) return CUDA_ERROR_SYSTEM_NOT_READY;
  return Counted(WithRescue(size, [&] { return real(p, size, flags); }), Foreign::kManaged, size);
}

CUresult MemAllocHost(decltype(&::cuMemAllocHost_v2) real, void** p, size_t size) {
  return Counted(real(p, size), Foreign::kPinnedHost, size);
}

CUresult MemHostAlloc(decltype(&::cuMemHostAlloc) real, void** p, size_t size, unsigned flags) {
  return Counted(real(p, size, flags), Foreign::kPinnedHost, size);
}

CUresult MemHostRegister(decltype(&::cuMemHostRegister_v2) real, void* p, size_t size,
                         unsigned flags) {
  return Counted(real(p, size, flags), Foreign::kPinnedHost, size);
}

CUresult ArrayCreate(decltype(&::cuArrayCreate_v2) real, CUarray* array,
                     const CUDA_ARRAY_DESCRIPTOR* descriptor) {
  if (AllocationsRefused()) return CUDA_ERROR_SYSTEM_NOT_READY;
  const size_t bytes = ArrayBytes(descriptor);
  return Counted(WithRescue(bytes, [&] { return real(array, descriptor); }), Foreign::kArray,
                 bytes);
}

CUresult Array3DCreate(decltype(&::cuArray3DCreate_v2) real, CUarray* array,
                       const CUDA_ARRAY3D_DESCRIPTOR* descriptor) {
  if (AllocationsRefused()) return CUDA_ERROR_SYSTEM_NOT_READY;
  const size_t bytes = ArrayBytes(descriptor);
  return Counted(WithRescue(bytes, [&] { return real(array, descriptor); }), Foreign::kArray,
                 bytes);
}

CUresult MipmappedArrayCreate(decltype(&::cuMipmappedArrayCreate) real, CUmipmappedArray* array,
                              const CUDA_ARRAY3D_DESCRIPTOR* descriptor, unsigned levels) {
  if (AllocationsRefused()) return CUDA_ERROR_SYSTEM_NOT_READY;
  const size_t bytes = MipmappedBytes(descriptor, levels);
  return Counted(WithRescue(bytes, [&] { return real(array, descriptor, levels); }),
                 Foreign::kArray, bytes);
}

}  // namespace vramspan::preload
