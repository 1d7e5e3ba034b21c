#include "tests/torture/torture.h"

#include <cuda.h>

#include <thread>
#include <vector>

#include "tests/kernels/test_kernels.h"
#include "tests/torture/worker.h"

namespace vramspan_test {
namespace {

using torture::Failure;
using torture::Shared;

template <typename F>
void Resolve(const vramspan::Driver& driver, const char* name, F* f) {
  *f = reinterpret_cast<F>(driver.Symbol(name));
  if (*f == nullptr) throw Failure{std::string("the driver has no ") + name};
}
void Prepare(Shared& s) {
  const auto check = [](CUresult r, const char* what) {
    if (r != CUDA_SUCCESS) {
      throw Failure{std::string(what) + ": " + vramspan::CuResultName(r)};
    }
  };
  auto driver = vramspan::Driver::Load();
  if (!driver.ok()) throw Failure{std::string(driver.status().message())};
  s.driver = *driver;
  const vramspan::DriverApi& d = s.driver->api();
  Resolve(*s.driver, "cuGraphCreate", &s.more.GraphCreate);
  Resolve(*s.driver, "cuGraphAddKernelNode_v2", &s.more.GraphAddKernelNode);
  Resolve(*s.driver, "cuGraphInstantiateWithFlags", &s.more.GraphInstantiate);
  Resolve(*s.driver, "cuGraphLaunch", &s.more.GraphLaunch);
  Resolve(*s.driver, "cuGraphExecDestroy", &s.more.GraphExecDestroy);
  Resolve(*s.driver, "cuGraphDestroy", &s.more.GraphDestroy);
  Resolve(*s.driver, "cuMemcpyDtoH_v2", &s.more.MemcpyDtoH);
  Resolve(*s.driver, "cuStreamBeginCapture_v2", &s.more.BeginCapture);
  Resolve(*s.driver, "cuStreamEndCapture", &s.more.EndCapture);
  CUdevice device = 0;
  check(d.DeviceGet(&device, 0), "cuDeviceGet");
  check(d.DevicePrimaryCtxRetain(&s.context, device), "cuDevicePrimaryCtxRetain");
  check(d.CtxSetCurrent(s.context), "cuCtxSetCurrent");
  CUmodule module = nullptr;
  check(simcuda::LoadKernels(test_kernels_images(), d.ModuleLoadData, &module), "cuModuleLoadData");
  check(d.ModuleGetFunction(&s.fill_hash, module, "fill_hash"), "cuModuleGetFunction");
  check(d.ModuleGetFunction(&s.add_constant, module, "add_constant"), "cuModuleGetFunction");
  check(d.ModuleGetFunction(&s.copy, module, "copy"), "cuModuleGetFunction");
  vramspanConfig config{};
  config.struct_size = sizeof(config);
  config.device_memory = s.options->device_memory.c_str();
  config.policy = s.options->policy.c_str();
  config.tracer = s.options->traced.empty() ? "off" : "cupti";
  if (!s.options->traced.empty()) config.overlap = s.options->traced.c_str();
  config.chunk = s.options->chunk.c_str();
  config.flags = s.options->flags | VRAMSPAN_CONFIG_QUIET;
  config.arena = "256GiB";
  if (vramspanCreate(&s.runtime, &config) != CUDA_SUCCESS) {
    throw Failure{std::string("vramspanCreate: ") + vramspanLastErrorMessage()};
  }
}

void Conclude(Shared& s, TortureResult* result) {
  const CUresult r = vramspanSynchronize(s.runtime);
  if (r != CUDA_SUCCESS && s.failure.empty()) {
    s.failure = std::string("vramspanSynchronize: ") + vramspanLastErrorMessage();
  }
  vramspanStatistics stats{};
  stats.struct_size = sizeof(stats);
  vramspanGetStatistics(s.runtime, &stats);
  result->fetches = stats.fetches;
  result->evictions = stats.evictions;
  result->deadlines = stats.deadlines;
  result->works = stats.works;
  result->works_held = stats.works_held;
  if (s.failure.empty() && stats.allocations != 0) {
    s.failure = "allocations are left after everything was freed";
  }
  // One empty chunk of packed objects may be kept, with its host twin.
  constexpr uint64_t kKept = uint64_t{2} << 20;
  if (s.failure.empty() && (stats.device_used > kKept || stats.host_used > kKept)) {
    s.failure =
        "memory is left in use after everything was freed: " + std::to_string(stats.device_used) +
        " on the device, " + std::to_string(stats.host_used) + " on the host";
  }
  vramspanDestroy(s.runtime);
}

}  // namespace

TortureResult RunTorture(const TortureOptions& options) {
  TortureResult result;
  Shared s;
  s.options = &options;
  try {
    Prepare(s);
  } catch (const Failure& failure) {
    result.failure = failure.text;
    return result;
  }
  vramspanStatistics stats{};
  stats.struct_size = sizeof(stats);
  vramspanGetStatistics(s.runtime, &stats);
  s.budget = stats.device_budget;
  s.begin = std::chrono::steady_clock::now();
  std::vector<std::thread> threads;
  for (int i = 0; i < options.threads; ++i) {
    threads.emplace_back([&s, i] { torture::Work(s, i); });
  }
  for (std::thread& t : threads) t.join();
  Conclude(s, &result);
  CUdevice device = 0;
  (*s.driver)->DeviceGet(&device, 0);
  (*s.driver)->DevicePrimaryCtxRelease(device);
  result.operations = s.operations;
  result.checked_cells = s.checked;
  result.failure = s.failure;
  return result;
}

}  // namespace vramspan_test
