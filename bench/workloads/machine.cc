#include "bench/workloads/machine.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <stdexcept>

namespace vramspan::bench {
namespace {

template <typename T>
T ValueOrThrow(StatusOr<T> value) {
  if (!value.ok()) throw std::runtime_error(std::string(value.status().message()));
  return *std::move(value);
}

}  // namespace

double Median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

Machine::Machine(int ordinal) : driver_(ValueOrThrow(Driver::Load())) {
  capabilities_ = ValueOrThrow(ReadCapabilities(*driver_, ordinal));
  const Status works = CanWork(*driver_, capabilities_);
  if (!works.ok()) throw std::runtime_error(std::string(works.message()));
  Check(api().DeviceGet(&device_, ordinal), "cuDeviceGet");
  Check(api().DevicePrimaryCtxRetain(&context_, device_), "cuDevicePrimaryCtxRetain");
  Check(api().CtxSetCurrent(context_), "cuCtxSetCurrent");
}

Machine::~Machine() {
  for (auto undo = cleanup_.rbegin(); undo != cleanup_.rend(); ++undo) (*undo)();
  api().CtxSetCurrent(nullptr);
  api().DevicePrimaryCtxRelease(device_);
}

std::string Machine::name() const {
  return absl::StrCat(capabilities_.name, ", driver ", driver_->version() / 1000, ".",
                      driver_->version() % 1000 / 10);
}

void Machine::Check(CUresult result, const char* call) const {
  if (result != CUDA_SUCCESS) {
    throw Error(result, std::string(DriverError(result, call).message()));
  }
}

CUstream Machine::MakeStream() {
  CUstream stream = nullptr;
  Check(api().StreamCreate(&stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
  cleanup_.push_back([this, stream] { api().StreamDestroy(stream); });
  return stream;
}

CUevent Machine::MakeEvent(bool timing) {
  CUevent event = nullptr;
  Check(api().EventCreate(&event, timing ? CU_EVENT_DEFAULT : CU_EVENT_DISABLE_TIMING),
        "cuEventCreate");
  cleanup_.push_back([this, event] { api().EventDestroy(event); });
  return event;
}

CUmodule Machine::LoadModule(const simcuda::KernelImages& images) {
  CUmodule module = nullptr;
  Check(simcuda::LoadKernels(images, api().ModuleLoadData, &module), "cuModuleLoadData");
  cleanup_.push_back([this, module] { api().ModuleUnload(module); });
  return module;
}

CUfunction Machine::Function(CUmodule module, const char* name) const {
  CUfunction function = nullptr;
  Check(api().ModuleGetFunction(&function, module, name), "cuModuleGetFunction");
  return function;
}

CUdeviceptr Machine::Allocate(size_t bytes) {
  CUdeviceptr ptr = 0;
  Check(api().MemAlloc(&ptr, bytes), "cuMemAlloc");
  cleanup_.push_back([this, ptr] { api().MemFree(ptr); });
  return ptr;
}

void* Machine::AllocateHost(size_t bytes) {
  void* ptr = nullptr;
  Check(api().MemHostAlloc(&ptr, bytes, 0), "cuMemHostAlloc");
  cleanup_.push_back([this, ptr] { api().MemFreeHost(ptr); });
  return ptr;
}

void Machine::Launch(CUfunction function, size_t blocks, unsigned threads, CUstream stream,
                     std::initializer_list<void*> params) const {
  void* list[16] = {};
  if (params.size() > std::size(list)) throw std::length_error("too many kernel parameters");
  std::copy(params.begin(), params.end(), list);
  Check(api().LaunchKernel(function, static_cast<unsigned>(blocks), 1, 1, threads, 1, 1, 0, stream,
                           list, nullptr),
        "cuLaunchKernel");
}

void Machine::Synchronize(CUstream stream) const {
  Check(api().StreamSynchronize(stream), "cuStreamSynchronize");
}

double Machine::Seconds(CUevent from, CUevent to) const {
  float milliseconds = 0;
  Check(api().EventElapsedTime(&milliseconds, from, to), "cuEventElapsedTime");
  return milliseconds / 1e3;
}

LinkRates MeasureLink(Machine& machine, size_t bytes, int repetitions) {
  const DriverApi& cu = machine.api();
  const CUstream in = machine.MakeStream();
  const CUstream out = machine.MakeStream();
  void* host[2] = {machine.AllocateHost(bytes), machine.AllocateHost(bytes)};
  const CUdeviceptr device[2] = {machine.Allocate(bytes), machine.Allocate(bytes)};
  // Several copies a measurement, so that starting and waiting do not count.
  constexpr int kCopies = 4;
  const auto measure = [&](bool inwards, bool outwards) {
    std::vector<double> rates;
    for (int i = -1; i < repetitions; ++i) {  // The first is to warm up.
      const auto start = std::chrono::steady_clock::now();
      for (int c = 0; c < kCopies; ++c) {
        if (inwards) {
          machine.Check(cu.MemcpyHtoDAsync(device[0], host[0], bytes, in), "cuMemcpyHtoDAsync");
        }
        if (outwards) {
          machine.Check(cu.MemcpyDtoHAsync(host[1], device[1], bytes, out), "cuMemcpyDtoHAsync");
        }
      }
      machine.Synchronize(in);
      machine.Synchronize(out);
      const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
      const double moved = static_cast<double>(bytes) * kCopies * (inwards + outwards);
      if (i >= 0) rates.push_back(moved / seconds.count());
    }
    return Median(rates);
  };
  return {measure(true, false), measure(false, true), measure(true, true)};
}

Runtime MakeRuntime(const Machine& machine, size_t device_memory, const std::string& chunk,
                    const std::string& policy, const std::string& overlap,
                    const std::string& record) {
  return Runtime(
      {.driver = machine.driver()->path(),
       .device_memory = device_memory == 0 ? std::string() : std::to_string(device_memory),
       .chunk = chunk,
       .policy = policy,
       .tracer = overlap.empty() ? "off" : "cupti",
       .overlap = overlap,
       .record = record,
       .quiet = true});
}

int RunMain(const char* program, const std::function<int()>& body) {
  try {
    return body();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", program, error.what());
    return 1;
  }
}

}  // namespace vramspan::bench
