#include "runtime/preload/between_devices.h"

#include <optional>

#include "runtime/base/own_calls.h"
#include "runtime/preload/launch.h"
#include "runtime/preload/peers.h"
#include "runtime/preload/resolver.h"
#include "runtime/preload/runtimes.h"

namespace vramspan::preload {
namespace {

using Device = std::optional<CUdevice>;

Device DeviceOfAddress(CUdeviceptr p) {
  const auto ask = DriverFunction<decltype(&::cuPointerGetAttribute)>("cuPointerGetAttribute");
  CUmemorytype type{};
  int device = 0;
  // Host memory is reached by all devices.
  if (p == 0 || ask == nullptr || ask(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, p) != CUDA_SUCCESS ||
      type != CU_MEMORYTYPE_DEVICE ||
      ask(&device, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, p) != CUDA_SUCCESS) {
    return std::nullopt;
  }
  return device;
}

Device DeviceOfContext(CUcontext context) {
  if (Runtime* const runtime = RuntimeOfContext(context)) {
    return runtime->memory().options().ordinal;
  }
  const auto push = DriverFunction<decltype(&::cuCtxPushCurrent)>("cuCtxPushCurrent_v2");
  const auto pop = DriverFunction<decltype(&::cuCtxPopCurrent)>("cuCtxPopCurrent_v2");
  const auto get = DriverFunction<decltype(&::cuCtxGetDevice)>("cuCtxGetDevice");
  if (push == nullptr || pop == nullptr || get == nullptr || push(context) != CUDA_SUCCESS) {
    return std::nullopt;
  }
  CUdevice device = 0;
  const CUresult got = get(&device);
  CUcontext popped = nullptr;
  return pop(&popped) == CUDA_SUCCESS && got == CUDA_SUCCESS ? Device(device) : std::nullopt;
}

CUcontext ContextOf(const CopyMaker& maker) {
  if (maker.context != nullptr) return maker.context;
  // Handles of default streams are of the current context.
  const bool of_its_own = maker.stream != nullptr && maker.stream != CU_STREAM_LEGACY &&
                          maker.stream != CU_STREAM_PER_THREAD;
  if (of_its_own) {
    const auto ask = DriverFunction<decltype(&::cuStreamGetCtx)>("cuStreamGetCtx");
    CUcontext context = nullptr;
    if (ask != nullptr && ask(maker.stream, &context) == CUDA_SUCCESS) return context;
  }
  return CurrentContext();
}

void Open(Runtime* runtime, Device device) {
  if (runtime == nullptr || !device || *device == runtime->memory().options().ordinal) return;
  OpenForCopies(runtime, *device);
}

}  // namespace

constinit std::atomic<bool> several_devices{false};

void CountDevices() {
  const auto ask = DriverFunction<decltype(&::cuDeviceGetCount)>("cuDeviceGetCount");
  int count = 0;
  if (ask == nullptr || ask(&count) != CUDA_SUCCESS || count < 2) return;
  several_devices.store(true, std::memory_order_release);
}

void OpenBetween(const CopyMaker& maker, const CopyEnds& ends) {
  Runtime* const to = RuntimeOf(ends.to);
  Runtime* const from = RuntimeOf(ends.from);
  if (to == nullptr && from == nullptr) return;
  const OwnCalls own;
  const CUcontext by = ContextOf(maker);
  Runtime* const ours = to != nullptr ? to : from;
  // Of one device alone, as most are.
  const bool alone = to == from || ends.to == 0 || ends.from == 0;
  if (alone && by == ours->memory().options().context) return;
  const Device maker_device = DeviceOfContext(by);
  Open(to, maker_device);
  Open(from, maker_device);
  if (to == from) return;
  Open(to, from != nullptr ? from->memory().options().ordinal : DeviceOfAddress(ends.from));
  Open(from, to != nullptr ? to->memory().options().ordinal : DeviceOfAddress(ends.to));
}

}  // namespace vramspan::preload
