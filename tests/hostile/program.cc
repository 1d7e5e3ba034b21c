// All programs of this folder in one: `hostile_programs NAME ARGUMENTS`.
#include "tests/hostile/program.h"

#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>

namespace hostile {
namespace {

std::map<std::string, Main>& Programs() {
  static auto* programs = new std::map<std::string, Main>;
  return *programs;
}

template <typename... Arguments>
void Launch(CUfunction f, unsigned blocks, unsigned threads, CUstream stream,
            Arguments... arguments) {
  void* parameters[] = {&arguments...};
  OK(cuLaunchKernel(f, blocks, 1, 1, threads, 1, 1, 0, stream, parameters, nullptr));
}

}  // namespace

Gpu gpu;

void Check(CUresult result, const char* call, const char* file, int line) {
  if (result == CUDA_SUCCESS) return;
  std::fprintf(stderr, "%s:%d: %s: %d\n", file, line, call, static_cast<int>(result));
  std::exit(3);
}

void Start() {
  OK(cuInit(0));
  OK(cuDeviceGet(&gpu.device, 0));
  OK(cuDevicePrimaryCtxRetain(&gpu.context, gpu.device));
  OK(cuCtxSetCurrent(gpu.context));
  OK(simcuda::LoadKernels(hostile_kernels_images(), cuModuleLoadData, &gpu.module));
  OK(cuModuleGetFunction(&gpu.add, gpu.module, "add"));
  OK(cuModuleGetFunction(&gpu.wait_add, gpu.module, "wait_add"));
  OK(cuModuleGetFunction(&gpu.churn, gpu.module, "churn"));
  OK(cuModuleGetFunction(&gpu.nothing, gpu.module, "nothing"));
}

void Add(CUdeviceptr words, size_t count, Word value, CUstream stream) {
  Launch(gpu.add, 4, 128, stream, words, count, value);
}
void WaitAdd(CUdeviceptr flag, CUdeviceptr words, size_t count, Word value, CUstream stream) {
  Launch(gpu.wait_add, 1, 1, stream, flag, words, count, value);
}
void Churn(CUdeviceptr flag, CUdeviceptr words, size_t count, CUdeviceptr passes, CUstream stream) {
  Launch(gpu.churn, 1, 1, stream, flag, words, count, passes);
}
void Nothing(CUdeviceptr words, CUstream stream) { Launch(gpu.nothing, 1, 1, stream, words); }

CUstream MakeStream() {
  CUstream stream = nullptr;
  OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  return stream;
}

std::vector<CUdeviceptr> Blocks(size_t count) {
  std::vector<CUdeviceptr> blocks(count);
  for (CUdeviceptr& block : blocks) OK(cuMemAlloc(&block, kBlock));
  for (const CUdeviceptr block : blocks) OK(cuMemsetD8(block, 0, kBlock));
  OK(cuCtxSynchronize());
  return blocks;
}

void AddToAll(const std::vector<CUdeviceptr>& blocks, CUstream stream) {
  for (const CUdeviceptr block : blocks) Add(block, kBlockWords, 1, stream);
}

size_t WrongWords(CUdeviceptr block, Word expected) {
  std::vector<Word> words(kBlockWords);
  OK(cuMemcpyDtoH(words.data(), block, kBlockWords * sizeof(Word)));
  size_t wrong = 0;
  for (const Word word : words) wrong += word != expected;
  return wrong;
}

Page::Page() {
  void* page = nullptr;
  OK(cuMemHostAlloc(&page, 4096, CU_MEMHOSTALLOC_DEVICEMAP));
  word = static_cast<volatile unsigned*>(page);
  for (size_t i = 0; i < 4096 / sizeof(unsigned); ++i) word[i] = 0;
  OK(cuMemHostGetDevicePointer(&address, page, 0));
}

bool Register(const char* name, Main main) { return Programs().emplace(name, main).second; }

}  // namespace hostile

int main(int argc, char** argv) {
  if (argc > 1) {
    const auto found = hostile::Programs().find(argv[1]);
    if (found != hostile::Programs().end()) return found->second(argc - 1, argv + 1);
  }
  std::fprintf(stderr, "usage: hostile_programs NAME [ARGUMENTS], NAME one of:");
  for (const auto& [name, main] : hostile::Programs()) std::fprintf(stderr, " %s", name.c_str());
  std::fprintf(stderr, "\n");
  return 2;
}
