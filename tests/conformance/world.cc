#include "tests/conformance/world.h"

#include <stdexcept>

#include "runtime/base/status.h"
#include "tests/kernels/test_kernels.h"

void PrintTo(CUresult result, std::ostream* out) { *out << vramspan::conformance::Name(result); }

namespace vramspan::conformance {
namespace {

using Word = unsigned long long;

constexpr const char* kKernels[] = {"fill",    "fill_hash", "add_constant", "checksum",
                                    "copy",    "nothing",   "touch",        "spin_until",
                                    "atomics", "add_until", "set_flag"};

}  // namespace

std::string Name(CUresult result) {
  const char* name = nullptr;
  const CUresult known = World::Get().GetErrorName(result, &name);
  return known == CUDA_SUCCESS ? name : CuResultName(result);
}

void Must(CUresult result, std::string_view call) {
  if (result == CUDA_SUCCESS) return;
  throw std::runtime_error(std::string(call) + ": " + CuResultName(result));
}

const World& World::Get() {
  static const World* const world = [] {
    auto* const made = new World();
    made->RunEverythingOnce();
    return made;
  }();
  return *world;
}

World::World() {
  auto loaded = Driver::Load();
  if (!loaded.ok()) throw std::runtime_error(std::string(loaded.status().message()));
  driver_ = *loaded;
  LoadCalls();
  simulated_ = driver_->Symbol("simcudaReset") != nullptr;

  auto capabilities = ReadCapabilities(*driver_, 0);
  if (!capabilities.ok()) throw std::runtime_error(std::string(capabilities.status().message()));
  const Status can_work = CanWork(*driver_, *capabilities);
  if (!can_work.ok()) throw std::runtime_error(std::string(can_work.message()));
  host_numa_id_ = capabilities->host_numa_id;
  compute_major_ = capabilities->compute_major;

  Must(cu().DeviceGet(&device_, 0), "cuDeviceGet");
  Must(cu().CtxCreate(&second_, nullptr, 0, device_), "cuCtxCreate");
  Must(cu().DevicePrimaryCtxRetain(&primary_, device_), "cuDevicePrimaryCtxRetain");
  Must(cu().CtxSetCurrent(primary_), "cuCtxSetCurrent");
  const CUmodule module = Load(test_kernels_images());
  for (const char* name : kKernels) {
    Must(cu().ModuleGetFunction(&kernels_[name], module, name), name);
  }
}

void World::LoadCalls() {
#define VS_X(field, symbol)                                                \
  field = reinterpret_cast<decltype(&::symbol)>(driver_->Symbol(#symbol)); \
  if (field == nullptr) throw std::runtime_error("the driver has no " #symbol);
  VRAMSPAN_CONFORMANCE_CALLS(VS_X)
#undef VS_X
}

CUmodule World::Load(const simcuda::KernelImages& images) const {
  CUmodule module = nullptr;
  Must(simcuda::LoadKernels(images, cu().ModuleLoadData, &module), "cuModuleLoadData");
  return module;
}

CUfunction World::Kernel(const std::string& name) const {
  const auto it = kernels_.find(name);
  if (it == kernels_.end()) throw std::runtime_error("kernel not loaded: " + name);
  return it->second;
}

// A driver may load a kernel, its own for fills included, at its first launch, and wait for the
// device then.
void World::RunEverythingOnce() const {
  constexpr size_t kBytes = 64 << 10;
  for (const CUcontext context : {second_, primary_}) {
    Must(cu().CtxSetCurrent(context), "cuCtxSetCurrent");
    CUdeviceptr scratch = 0;
    Must(cu().MemAlloc(&scratch, 2 * kBytes), "cuMemAlloc");
    CUdeviceptr pooled = 0;
    Must(MemAllocAsync(&pooled, kBytes, nullptr), "cuMemAllocAsync");
    Must(MemFreeAsync(pooled, nullptr), "cuMemFreeAsync");
    Must(MemsetD8(scratch, 0, kBytes), "cuMemsetD8");
    Must(MemsetD32(scratch, 0, kBytes / 4), "cuMemsetD32");
    Must(MemsetD2D8(scratch, 4096, 0, 1000, 8), "cuMemsetD2D8");
    Must(MemcpyDtoD(scratch + kBytes, scratch, kBytes), "cuMemcpyDtoD");
    if (context == primary_) {
      const auto run = [this](const char* name, auto... args) {
        Must(LaunchOn(cu(), Kernel(name), 1, 1, nullptr, args...), name);
      };
      const size_t none = 0;
      run("fill", scratch, none, Word{0});
      run("fill_hash", scratch, none, Word{0});
      run("add_constant", scratch, none, Word{0});
      run("checksum", scratch, none, scratch);
      run("copy", scratch, scratch, none);
      run("nothing");
      run("touch", scratch);
      run("spin_until", scratch, 0u);
      run("set_flag", scratch, 0u);
      run("atomics", scratch);
      run("add_until", scratch, none, scratch, 0u, scratch);
    }
    Must(cu().CtxSynchronize(), "cuCtxSynchronize");
    Must(cu().MemFree(scratch), "cuMemFree");
  }
}

Current::Current(CUcontext context) {
  Must(World::Get().cu().CtxPushCurrent(context), "cuCtxPushCurrent");
}

Current::~Current() {
  CUcontext popped = nullptr;
  World::Get().cu().CtxPopCurrent(&popped);
}

Stream::Stream(unsigned flags) {
  Must(World::Get().cu().StreamCreate(&stream_, flags), "cuStreamCreate");
}

Stream::~Stream() {
  if (stream_ != nullptr) World::Get().cu().StreamDestroy(stream_);
}

bool Stream::Done() const {
  const CUresult result = World::Get().cu().StreamQuery(stream_);
  if (result == CUDA_ERROR_NOT_READY) return false;
  Must(result, "cuStreamQuery");
  return true;
}

Pinned::Pinned(size_t bytes) {
  const DriverApi& cu = World::Get().cu();
  Must(cu.MemHostAlloc(&data_, bytes, CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP),
       "cuMemHostAlloc");
  Must(cu.MemHostGetDevicePointer(&device_, data_, 0), "cuMemHostGetDevicePointer");
}

Pinned::~Pinned() { World::Get().cu().MemFreeHost(data_); }

}  // namespace vramspan::conformance
