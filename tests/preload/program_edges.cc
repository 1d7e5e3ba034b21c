// Where plain allocation ends: inside a capture, when there is no more memory, and when the process
// ends. Lines say only what must be the same with vramspan.
#include <dlfcn.h>

#include <cstdio>
#include <memory>
#include <vector>

#include "tests/preload/program_scenarios.h"

namespace {

constexpr size_t kMiB = size_t{1} << 20;

template <typename Function>
Function Find(const char* name) {
  void* const driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  CHECK(driver != nullptr);
  const auto found = reinterpret_cast<Function>(dlsym(driver, name));
  CHECK(found != nullptr);
  return found;
}

// Frees what it is given when it is destroyed.
class FreesAtTheEnd {
 public:
  explicit FreesAtTheEnd(const char* name) : name_(name) {}
  ~FreesAtTheEnd() {
    if (api_ == nullptr) return;
    std::printf("%s: %d\n", name_, api_->MemFree(memory_));
    std::fflush(stdout);
  }
  void Take(Program* p) {
    CHECK_OK(p->api.MemAlloc(&memory_, 8 * kMiB));
    api_ = std::make_unique<Api>(p->api);
  }

 private:
  const char* const name_;
  std::unique_ptr<Api> api_;
  CUdeviceptr memory_ = 0;
};

FreesAtTheEnd made_before("made before the driver");

}  // namespace

void AllocateInCaptures(Program* p) {
  p->Start();
  const auto begin = Find<CUresult (*)(CUstream, CUstreamCaptureMode)>("cuStreamBeginCapture_v2");
  const auto end = Find<CUresult (*)(CUstream, CUgraph*)>("cuStreamEndCapture");
  const auto destroy = Find<CUresult (*)(CUgraph)>("cuGraphDestroy");
  CUdeviceptr before = 0, m = 0;
  size_t pitch = 0;
  CHECK_OK(p->api.MemAlloc(&before, 4 * kMiB));
  for (const CUstreamCaptureMode mode :
       {CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL,
        CU_STREAM_CAPTURE_MODE_RELAXED}) {
    const auto ask = [&](const char* what, auto call) {
      m = 7;
      pitch = 7;
      CHECK_OK(begin(p->stream, mode));
      const CUresult result = call();
      const bool had = result == CUDA_SUCCESS && m != 7;
      CUgraph graph = nullptr;
      const CUresult ended = end(p->stream, &graph);
      std::printf("%s in mode %d: %d, written %d %d, end %d\n", what, static_cast<int>(mode),
                  result, m != 7, pitch != 7, ended);
      if (graph != nullptr) CHECK_OK(destroy(graph));
      if (had) CHECK_OK(p->api.MemFree(m));
    };
    ask("allocate", [&] { return p->api.MemAlloc(&m, 4 * kMiB); });
    ask("allocate little", [&] { return p->api.MemAlloc(&m, 8); });
    ask("allocate nothing", [&] { return p->api.MemAlloc(&m, 0); });
    ask("allocate rows", [&] { return p->api.MemAllocPitch(&m, &pitch, 100, 100, 4); });
    ask("free nothing", [&] { return p->api.MemFree(0); });
    ask("free", [&] { return p->api.MemFree(before); });
    if (mode == CU_STREAM_CAPTURE_MODE_RELAXED) continue;
    p->Work({before}, 4 * kMiB, 1);
  }
  std::printf("free again: %d\n", p->api.MemFree(before));
}

void LittleIsLeft(Program* p) {
  p->Start();
  std::vector<CUdeviceptr> all;
  CUdeviceptr m = 0;
  CUresult result = CUDA_SUCCESS;
  while ((result = p->api.MemAlloc(&m, 2 * kMiB)) == CUDA_SUCCESS) all.push_back(m);
  std::printf("full: %d\n", result);
  std::vector<CUdeviceptr> little;
  for (int i = 0; i < 100; ++i) {
    const CUresult got = p->api.MemAlloc(&m, 8);
    if (got != CUDA_SUCCESS) Fail("8 bytes: " + std::to_string(static_cast<int>(got)));
    little.push_back(m);
  }
  p->Launch(p->fill_hash, little.front(), 1, 3);
  CHECK_OK(p->api.StreamSynchronize(p->stream));
  unsigned long long word = 0;
  CHECK_OK(p->api.MemcpyDtoH(&word, little.front(), sizeof word));
  CHECK(word == Program::Word(0, 3));
  // No more than a little: what the budget says still holds.
  size_t pieces = 0;
  std::vector<CUdeviceptr> larger;
  while (p->api.MemAlloc(&m, kMiB) == CUDA_SUCCESS && ++pieces < 64) larger.push_back(m);
  CHECK(pieces < 4);
  for (const auto& list : {little, larger, all}) {
    for (const CUdeviceptr each : list) CHECK_OK(p->api.MemFree(each));
  }
}

void FreeAtTheEnd(Program* p) {
  p->Start();
  made_before.Take(p);
  static FreesAtTheEnd made_behind("made behind it");
  made_behind.Take(p);
}
