#include "tests/hostile/torture/program.h"

#include <dlfcn.h>

#include "tests/kernels/test_kernels.h"

namespace torture {
namespace {

constexpr CUresult kInjected = CUDA_ERROR_UNKNOWN;

using Fail = int (*)(const char*, unsigned long long, long long, int);
using SetDelay = int (*)(const char*, unsigned);

template <typename F>
F Control(const char* name) {
  return reinterpret_cast<F>(dlsym(RTLD_DEFAULT, name));
}

}  // namespace

bool Program::Late() const {
  if (options.operations != 0 && operations >= options.operations) return true;
  if (options.seconds == 0) return false;
  return std::chrono::steady_clock::now() - begin > std::chrono::duration<double>(options.seconds);
}

void Program::Start() {
  Program& program_ = *this;
  MUST(cuInit(0));
  MUST(cuDeviceGet(&device, 0));
  MUST(cuDevicePrimaryCtxRetain(&context, device));
  MUST(cuCtxSetCurrent(context));
  MUST(simcuda::LoadKernels(test_kernels_images(), cuModuleLoadData, &module));
  MUST(cuModuleGetFunction(&fill_hash, module, "fill_hash"));
  MUST(cuModuleGetFunction(&add_constant, module, "add_constant"));
  MUST(cuModuleGetFunction(&copy, module, "copy"));
  MUST(cuModuleGetFunction(&checksum, module, "checksum"));
  MUST(simcuda::LoadKernels(torture_kernels_images(), cuModuleLoadData, &slow_module));
  MUST(cuModuleGetFunction(&slow_add, slow_module, "slow_add"));
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, device};
  MUST(cuMemGetAllocationGranularity(&granularity, &properties,
                                     CU_MEM_ALLOC_GRANULARITY_RECOMMENDED));
}

bool Done(const Program& program, CUresult result, const char* what, bool allocates) {
  if (result == CUDA_SUCCESS) return true;
  if (program.options.failing && result == kInjected) return false;
  if (allocates && result == CUDA_ERROR_OUT_OF_MEMORY) return false;
  const char* name = nullptr;
  cuGetErrorName(result, &name);
  throw Failure{std::string(what) + ": " + (name != nullptr ? name : "an unknown error")};
}

void Disturb(const Program& program, uint64_t random) {
  static const auto fail = Control<Fail>("simcudaFail");
  static const auto delay = Control<SetDelay>("simcudaSetDelay");
  if (program.options.failing && fail != nullptr && random % 2000 == 0) {
    fail("*", 1 + random / 2000 % 10000, 1, kInjected);
  }
  if (!program.options.slow || delay == nullptr || random % 100 > 1) return;
  static constexpr const char* kCalls[] = {
      "cuMemMap",         "cuMemUnmap",        "cuMemSetAccess",      "cuMemCreate",
      "cuMemRelease",     "cuMemcpyDtoDAsync", "cuMemcpyDtoHAsync",   "cuMemcpyHtoDAsync",
      "cuLaunchKernel",   "cuEventRecord",     "cuStreamWaitValue32", "cuStreamWriteValue32",
      "cuStreamWaitEvent"};
  const char* const call = kCalls[random / 100 % std::size(kCalls)];
  delay(call, random % 100 == 0 ? 0 : static_cast<unsigned>(random / 10000 % 500));
}

}  // namespace torture
