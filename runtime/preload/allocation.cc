#include "runtime/preload/allocation.h"

#include <absl/container/flat_hash_map.h>

#include <atomic>
#include <exception>
#include <limits>
#include <new>
#include <optional>

#include "runtime/base/log.h"
#include "runtime/base/mutex.h"
#include "runtime/base/own_calls.h"
#include "runtime/preload/allocated.h"
#include "runtime/preload/foreign.h"
#include "runtime/preload/ipc.h"
#include "runtime/preload/refusals.h"
#include "runtime/preload/resolver.h"
#include "runtime/preload/runtimes.h"
#include "runtime/preload/stream_ordered.h"
#include "runtime/preload/torch_caller.h"
#include "runtime/preload/vmm.h"

namespace vramspan::preload {
namespace {

// What the driver aligns to, beyond the 256 bytes that it promises.
constexpr Bytes kAlignment(512);

CUresult Allocate(Runtime* runtime, CUdeviceptr* p, Bytes size) {
  const OwnCalls own;
  try {
    const bool packed = size <= SmallObjects::kMaxSmall;
    // Packed objects are as large as their class anyhow.
    const Bytes asked = packed ? RoundUp(size, kAlignment) : size;
    const StatusOr<DevicePtr> memory =
        WithRoomOfPools(runtime, asked, [&] { return runtime->Allocate(asked); });
    if (!memory.ok()) return Told(memory.status());
    AddAllocated(memory->value, size.value);
    *p = memory->value;
    if (!packed && CalledByTorch()) runtime->OnlyReported(*memory);
    return CUDA_SUCCESS;
  } catch (const std::exception& e) {
    Log(LogLevel::kError, e.what());
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
}

// Whether a stream is being captured in a mode in which the calling thread may neither allocate nor
// free: then the capture is ruined by the question, as it is by the call. The driver looks at that
// before it looks at what it is asked for (measured on an H100).
bool RefusedByCapture(Runtime* runtime) {
  CUdeviceptr none = 0;
  return (*runtime->driver())->MemAlloc(&none, 0) == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

// Memory for what a program does when it has run out of it: a driver nearly always has some left
// beside what was too large. It is the driver's own, and no more than a driver takes at once.
class LastBytes {
 public:
  static LastBytes& Get() {
    static LastBytes* const last = new LastBytes;
    return *last;
  }
  CUresult Take(decltype(&::cuMemAlloc_v2) real, CUdeviceptr* p, size_t size) {
    MutexLock lock(mu_);
    const size_t taken = RoundUp(Bytes(size), kAlignment).value;
    if (taken > kMost - taken_) return CUDA_ERROR_OUT_OF_MEMORY;
    const CUresult result = real(p, size);
    if (result != CUDA_SUCCESS) return result;
    taken_ += taken;
    sizes_.emplace(*p, taken);
    any_.store(true, std::memory_order_release);
    return CUDA_SUCCESS;
  }
  void Freed(CUdeviceptr p) {
    if (!any_.load(std::memory_order_acquire)) return;
    MutexLock lock(mu_);
    const auto it = sizes_.find(p);
    if (it == sizes_.end()) return;
    taken_ -= it->second;
    sizes_.erase(it);
  }

 private:
  static constexpr size_t kMost = kGranularity.value;

  Mutex mu_;
  size_t taken_ VS_GUARDED_BY(mu_) = 0;
  absl::flat_hash_map<CUdeviceptr, size_t> sizes_ VS_GUARDED_BY(mu_);
  std::atomic<bool> any_{false};
};

// The unit of the driver's pitches for elements of 4, 8 or 16 bytes, asked for once: that of one
// row of one byte. 0 where the driver did not say.
size_t PitchUnit(decltype(&::cuMemAllocPitch_v2) real, unsigned element) {
  static constinit std::atomic<size_t> units[3] = {0, 0, 0};
  std::atomic<size_t>& unit = units[element == 4 ? 0 : element == 8 ? 1 : 2];
  if (const size_t known = unit.load(std::memory_order_relaxed); known != 0) return known;
  const auto free = DriverFunction<decltype(&::cuMemFree_v2)>("cuMemFree_v2");
  CUdeviceptr p = 0;
  size_t pitch = 0;
  if (free == nullptr || real(&p, &pitch, 1, 1, element) != CUDA_SUCCESS) return 0;
  free(p);
  unit.store(pitch, std::memory_order_relaxed);
  return pitch;
}

}  // namespace

CUresult MemAlloc(decltype(&::cuMemAlloc_v2) real, CUdeviceptr* p, size_t size) {
  if (p == nullptr || size == 0) return real(p, size);
  Runtime* const runtime = RuntimeForAllocation();
  if (runtime == nullptr) {
    return AllocationsRefused() ? CUDA_ERROR_SYSTEM_NOT_READY : real(p, size);
  }
  if (RefusedByCapture(runtime)) {
    *p = 0;
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  }
  const CUresult result = Allocate(runtime, p, Bytes(size));
  const bool small = Bytes(size) <= SmallObjects::kMaxSmall;
  if (result != CUDA_ERROR_OUT_OF_MEMORY || !small) return result;
  const CUdeviceptr before = *p;
  const CUresult last = LastBytes::Get().Take(real, p, size);
  if (last != CUDA_SUCCESS) *p = before;
  return last;
}

CUresult MemAllocPitch(decltype(&::cuMemAllocPitch_v2) real, CUdeviceptr* p, size_t* pitch,
                       size_t width, size_t height, unsigned element) {
  const auto pass = [&] { return real(p, pitch, width, height, element); };
  const bool valid = p != nullptr && pitch != nullptr && width != 0 && height != 0 &&
                     (element == 4 || element == 8 || element == 16);
  if (!valid) return pass();
  Runtime* const runtime = RuntimeForAllocation();
  if (runtime == nullptr) return AllocationsRefused() ? CUDA_ERROR_SYSTEM_NOT_READY : pass();
  if (RefusedByCapture(runtime)) {
    *p = 0;
    *pitch = (width + kAlignment.value - 1) / kAlignment.value * kAlignment.value;
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  }
  const size_t unit = PitchUnit(real, element);
  constexpr size_t kLargest = std::numeric_limits<int64_t>::max();
  if (unit == 0 || width > kLargest - unit) return pass();
  const size_t row = (width + unit - 1) / unit * unit;
  if (height > kLargest / row) return pass();
  const CUresult result = Allocate(runtime, p, Bytes(row * height));
  if (result == CUDA_SUCCESS) *pitch = row;
  return result;
}

CUresult MemFree(decltype(&::cuMemFree_v2) real, CUdeviceptr p) {
  Runtime* const runtime = RuntimeOf(p);
  if (runtime == nullptr) {
    return WithReturn([&] {
      // Before the call: from then on another may have the address.
      LastBytes::Get().Freed(p);
      return real(p);
    });
  }
  if (RefusedByCapture(runtime)) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  CUdeviceptr mapped = 0;
  size_t size = 0;
  if (FindVmmMapping(p, &mapped, &size)) return CUDA_ERROR_INVALID_VALUE;
  const OwnCalls own;
  try {
    const std::optional<Allocated> memory = RemoveAllocated(p);
    if (!memory.has_value()) return CUDA_ERROR_INVALID_VALUE;
    Status status = runtime->memory().drains().Drain();
    if (!status.ok()) RestoreAllocated(*memory);
    if (status.ok() && memory->pool != nullptr) StreamOrderedOf(runtime)->Forget(p);
    if (status.ok()) ForgetExported(p);
    if (status.ok()) status = runtime->Free(DevicePtr(p));
    return Told(status);
  } catch (const std::exception& e) {
    Log(LogLevel::kError, e.what());
    return CUDA_ERROR_UNKNOWN;
  }
}

}  // namespace vramspan::preload
