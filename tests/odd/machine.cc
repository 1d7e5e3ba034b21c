#include "tests/odd/machine.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <utility>

#include "runtime/observe/image_hash.h"
#include "runtime/observe/trust_list.h"

namespace odd {
namespace {

// Odd kernels are among them where the runtime finds the addresses that they use.
constexpr const char* kProven[] = {"plain_add",  "plain_copy",   "plain_sum", "plain_store",
                                   "odd_packed", "odd_in_front", "odd_apart", "odd_halves",
                                   "odd_tagged", "odd_page",     "odd_table"};

// The process reads it when its first runtime is made.
void TrustProven(uint64_t module) {
  const char* const folder = std::getenv("TMPDIR");
  const std::string path = std::string(folder != nullptr ? folder : "/tmp") + "/odd_programs_" +
                           std::to_string(getpid()) + ".trust";
  std::ofstream file(path);
  file << "vramspan-trust 1\n";
  for (const char* name : kProven) {
    file << vramspan::TrustLine(name, {.launches = 20, .argument_sets = 9, .module = module});
  }
  file.close();
  setenv("VRAMSPAN_TRUST", path.c_str(), 1);
}

}  // namespace

void Check(CUresult result, const char* call) {
  if (result == CUDA_SUCCESS) return;
  const char* name = nullptr;
  cuGetErrorName(result, &name);
  throw Failure{std::string(call) + ": " + (name != nullptr ? name : "an unknown error")};
}

void CheckSpan(CUresult result, const char* call) {
  if (result == CUDA_SUCCESS) return;
  throw Failure{std::string(call) + ": " + vramspanLastErrorMessage()};
}

Machine::Machine(std::string overlap) : overlap_(std::move(overlap)) {
  const simcuda::KernelImages images = odd_kernels_images();
  TrustProven(vramspan::HashOfImage(images.host));
  CUdevice device = 0;
  ODD_CU(cuInit(0));
  ODD_CU(cuDeviceGet(&device, 0));
  ODD_CU(cuDevicePrimaryCtxRetain(&context_, device));
  ODD_CU(cuCtxSetCurrent(context_));
  // Images are known that are loaded once launches are seen.
  const vramspanRuntime first = NewRuntime(size_t{8} << 20, 0);
  std::remove(std::getenv("VRAMSPAN_TRUST"));
  ODD_CU(cuModuleLoadData(&module_, images.host));
  ODD_SPAN(vramspanDestroy(first));
  for (const std::string name : kProven) {
    Load(name);
    Load(name + "_new");
  }
  Load("odd_walk");
  size_t bytes = 0;
  ODD_CU(cuModuleGetGlobal(&globals_, &bytes, module_, "odd_globals"));
  void* pinned = nullptr;
  ODD_CU(cuMemHostAlloc(&pinned, kPinnedWords * sizeof(Word),
                        CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_PORTABLE));
  pinned_ = static_cast<Word*>(pinned);
}

vramspanRuntime Machine::NewRuntime(size_t budget, uint32_t deadline_us) const {
  const std::string device_memory = std::to_string(budget);
  vramspanConfig config{};
  config.struct_size = sizeof(config);
  config.driver = SIMCUDA_LIBRARY;
  config.device_memory = device_memory.c_str();
  config.host_memory = "256MiB";
  config.chunk = "2MiB";
  config.tracer = "cupti";
  config.overlap = overlap_.c_str();
  config.arena = "16GiB";
  config.flags = VRAMSPAN_CONFIG_QUIET;
  config.deadline_us = deadline_us;
  vramspanRuntime runtime = nullptr;
  ODD_SPAN(vramspanCreate(&runtime, &config));
  return runtime;
}

// Loaded at once: the first launch of a kernel that is not waits for all other work, parked or not.
void Machine::Load(const std::string& name) {
  CUfunction kernel = nullptr;
  ODD_CU(cuModuleGetFunction(&kernel, module_, name.c_str()));
  ODD_CU(cuFuncLoad(kernel));
  kernels_[name] = kernel;
}

}  // namespace odd
