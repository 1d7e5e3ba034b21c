#include "tests/preload/program_scenarios.h"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>

#include "tests/kernels/test_kernels.h"

void Fail(const std::string& what) {
  std::fprintf(stderr, "program: %s\n", what.c_str());
  std::exit(1);
}

bool HasGlobal(const char* name) {
  dlerror();
  const bool found = dlsym(RTLD_DEFAULT, name) != nullptr;
  CHECK(found == (dlerror() == nullptr));
  return found;
}

unsigned long long Program::Word(size_t index, unsigned long long seed) {
  return vramspan_test::HashWord(index, seed);
}

void Program::Start() {
  CHECK_OK(api.Init(0));
  CHECK_OK(api.DeviceGet(&device, 0));
  CHECK_OK(api.PrimaryRetain(&context, device));
  CHECK_OK(api.CtxSetCurrent(context));
  LoadKernels();
}

void Program::WorkBeyondMemory(size_t bytes) {
  size_t free = 0, total = 0;
  CHECK_OK(api.MemGetInfo(&free, &total));
  std::vector<CUdeviceptr> buffers(2 * total / bytes);
  for (CUdeviceptr& b : buffers) CHECK_OK(api.MemAlloc(&b, bytes));
  Work(buffers, bytes, 2);
  for (const CUdeviceptr b : buffers) CHECK_OK(api.MemFree(b));
}

void Program::LoadKernels() {
  CHECK_OK(simcuda::LoadKernels(test_kernels_images(), api.ModuleLoadData, &module));
  CHECK_OK(api.ModuleGetFunction(&fill_hash, module, "fill_hash"));
  CHECK_OK(api.ModuleGetFunction(&add_constant, module, "add_constant"));
  CHECK_OK(api.StreamCreate(&stream, CU_STREAM_NON_BLOCKING));
}

void Program::Launch(CUfunction kernel, CUdeviceptr words, size_t count, unsigned long long value) {
  void* params[] = {&words, &count, &value};
  CHECK_OK(api.LaunchKernel(kernel, 16, 1, 1, 64, 1, 1, 0, stream, params, nullptr));
}

void Program::Work(const std::vector<CUdeviceptr>& buffers, size_t bytes, int rounds) {
  const size_t words = bytes / sizeof(unsigned long long);
  for (size_t i = 0; i < buffers.size(); ++i) Launch(fill_hash, buffers[i], words, i);
  for (int round = 0; round < rounds; ++round) {
    for (const CUdeviceptr b : buffers) Launch(add_constant, b, words, 1);
  }
  CHECK_OK(api.StreamSynchronize(stream));
  std::vector<unsigned long long> back(words);
  for (size_t i = 0; i < buffers.size(); ++i) {
    CHECK_OK(api.MemcpyDtoH(back.data(), buffers[i], bytes));
    for (size_t w = 0; w < words; ++w) {
      const unsigned long long wanted = Word(w, i) + static_cast<unsigned long long>(rounds);
      if (back[w] != wanted) {
        Fail("word " + std::to_string(w) + " of buffer " + std::to_string(i) + " is wrong");
      }
    }
  }
}
