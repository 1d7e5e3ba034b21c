#include "tools/vramspan/demo_device.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <vector>

#include "tools/simcuda/kernel_images.h"
#include "vramspan/vramspan.hpp"

SIMCUDA_DECLARE_KERNELS(demo_kernels);

namespace vramspan::demo {
namespace {

constexpr unsigned kBlockThreads = 256;
constexpr size_t kMaxBlocks = 132 * 16;  // Fills an H200 twice over.

constexpr const char* kNames[Device::kKernels] = {
    "fill_integers", "fill_floats", "layer", "sweep_integers", "sweep_floats", "inject", "digest",
};

}  // namespace

StatusOr<std::unique_ptr<Device>> Device::Open(std::shared_ptr<const Driver> driver, int ordinal) {
  std::unique_ptr<Device> device(new Device());
  device->driver_ = std::move(driver);
  VS_ASSIGN_OR_RETURN(device->capabilities_, ReadCapabilities(*device->driver_, ordinal));
  VS_RETURN_IF_ERROR(CanWork(*device->driver_, device->capabilities_));
  VS_RETURN_IF_ERROR(device->Load());
  return device;
}

Status Device::Load() {
  const DriverApi& cu = api();
  VS_RETURN_IF_ERROR(vramspan::Check(cu.DeviceGet(&device_, capabilities_.ordinal), "cuDeviceGet"));
  VS_RETURN_IF_ERROR(
      vramspan::Check(cu.DevicePrimaryCtxRetain(&context_, device_), "cuDevicePrimaryCtxRetain"));
  VS_RETURN_IF_ERROR(vramspan::Check(cu.CtxSetCurrent(context_), "cuCtxSetCurrent"));
  VS_RETURN_IF_ERROR(
      vramspan::Check(simcuda::LoadKernels(demo_kernels_images(), cu.ModuleLoadData, &module_),
                      "cuModuleLoadData", "the demo's kernels"));
  for (int k = 0; k < kKernels; ++k) {
    VS_RETURN_IF_ERROR(vramspan::Check(cu.ModuleGetFunction(&kernels_[k], module_, kNames[k]),
                                       "cuModuleGetFunction", kNames[k]));
  }
  for (CUstream& stream : streams_) {
    VS_RETURN_IF_ERROR(
        vramspan::Check(cu.StreamCreate(&stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate"));
  }
  VS_RETURN_IF_ERROR(
      vramspan::Check(cu.EventCreate(&order_, CU_EVENT_DISABLE_TIMING), "cuEventCreate"));
  // The first launch of a kernel loads it. Here it has nothing to do, and the first run to be
  // timed does not pay for it. All-zero arguments are zero elements for every kernel.
  uint64_t zero = 0;
  std::vector<void*> params(8, &zero);
  for (CUfunction kernel : kernels_) {
    VS_RETURN_IF_ERROR(vramspan::Check(
        cu.LaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, streams_[0], params.data(), nullptr),
        "cuLaunchKernel", "with nothing to do"));
  }
  return vramspan::Check(cu.StreamSynchronize(streams_[0]), "cuStreamSynchronize");
}

Device::~Device() {
  if (context_ == nullptr) return;
  const DriverApi& cu = api();
  if (order_ != nullptr) cu.EventDestroy(order_);
  for (CUstream stream : streams_) {
    if (stream != nullptr) cu.StreamDestroy(stream);
  }
  if (module_ != nullptr) cu.ModuleUnload(module_);
  cu.CtxSetCurrent(nullptr);
  cu.DevicePrimaryCtxRelease(device_);
}

void Device::Check(CUresult result, const char* call) const {
  if (result != CUDA_SUCCESS) {
    throw Error(result, std::string(DriverError(result, call).message()));
  }
}

void Device::Launch(Kernel kernel, CUstream stream, size_t elements,
                    std::initializer_list<void*> params) const {
  const size_t blocks =
      std::clamp<size_t>((elements + kBlockThreads - 1) / kBlockThreads, 1, kMaxBlocks);
  std::vector<void*> list(params);
  Check(api().LaunchKernel(kernels_[kernel], static_cast<unsigned>(blocks), 1, 1, kBlockThreads, 1,
                           1, 0, stream, list.data(), nullptr),
        "cuLaunchKernel");
}

void Device::Order(CUstream earlier, CUstream later) const {
  // The wait takes the event's state at the call, so one event serves all.
  Check(api().EventRecord(order_, earlier), "cuEventRecord");
  Check(api().StreamWaitEvent(later, order_, 0), "cuStreamWaitEvent");
}

Bytes Device::free_memory() const {
  size_t free = 0;
  size_t total = 0;
  Check(api().MemGetInfo(&free, &total), "cuMemGetInfo");
  return Bytes(free);
}

}  // namespace vramspan::demo
