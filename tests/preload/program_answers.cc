#include <cstdio>

#include "tests/preload/program_scenarios.h"

namespace {

constexpr CUdeviceptr kUntouched = 0x7777;

// An address says nothing but whether it was written, and how it is aligned.
const char* Shown(CUdeviceptr p) {
  if (p == kUntouched) return "untouched";
  if (p == 0) return "zero";
  return p % 512 == 0 ? "aligned" : "odd";
}

// Where memory cannot be had the driver writes all the same, and vramspan does not.
bool Tells(CUresult result) { return result != CUDA_ERROR_OUT_OF_MEMORY; }

}  // namespace

void Answers(Program* p) {
  p->Start();
  const Api& api = p->api;
  const auto alloc = [&](size_t size, bool null) {
    CUdeviceptr memory = kUntouched;
    const CUresult result = api.MemAlloc(null ? nullptr : &memory, size);
    std::printf("alloc %zu%s: %d %s\n", size, null ? " null" : "", result,
                Tells(result) ? Shown(memory) : "");
    if (result == CUDA_SUCCESS) {
      std::printf("  free: %d\n", api.MemFree(memory));
      std::printf("  again: %d\n", api.MemFree(memory));
    }
  };
  for (const size_t size : {size_t{0}, size_t{1}, size_t{256}, size_t{257}, size_t{300000},
                            (size_t{2} << 20) + 1, size_t{1} << 50, ~size_t{0}}) {
    alloc(size, false);
    alloc(size, true);
  }
  const auto pitched = [&](size_t width, size_t height, unsigned element, bool null,
                           bool no_pitch) {
    CUdeviceptr memory = kUntouched;
    size_t pitch = 7;
    const CUresult result = api.MemAllocPitch(null ? nullptr : &memory, no_pitch ? nullptr : &pitch,
                                              width, height, element);
    std::printf("pitch %zu %zu %u%s%s: %d %s %zu\n", width, height, element, null ? " null" : "",
                no_pitch ? " no pitch" : "", result, Tells(result) ? Shown(memory) : "",
                Tells(result) ? pitch : 0);
    if (result == CUDA_SUCCESS) std::printf("  free: %d\n", api.MemFree(memory));
  };
  for (const unsigned element : {0u, 1u, 3u, 4u, 8u, 16u, 32u}) {
    for (const size_t width : {size_t{0}, size_t{1}, size_t{511}, size_t{512}, size_t{513},
                               size_t{100000}, size_t{1} << 62, ~size_t{0}}) {
      for (const size_t height : {size_t{0}, size_t{1}, size_t{33}, size_t{1} << 40}) {
        pitched(width, height, element, false, false);
      }
    }
    pitched(64, 64, element, true, false);
    pitched(64, 64, element, false, true);
  }
  CUdeviceptr memory = 0;
  CHECK_OK(api.MemAlloc(&memory, 4 << 20));
  std::printf("free 0: %d\n", api.MemFree(0));
  std::printf("free inside: %d\n", api.MemFree(memory + 512));
  std::printf("free nowhere: %d\n", api.MemFree(0x1234500));
  std::printf("free: %d\n", api.MemFree(memory));
  std::printf("free again: %d\n", api.MemFree(memory));
  CUcontext none = nullptr;
  CHECK_OK(api.CtxSetCurrent(none));
  memory = kUntouched;
  std::printf("without a context: %d", api.MemAlloc(&memory, 64));
  std::printf(" %s\n", Shown(memory));
}

void LeavesUntouched(Program* p) {
  p->Start();
  CUdeviceptr memory = kUntouched;
  size_t pitch = 7;
  for (const size_t size : {size_t{1} << 50, ~size_t{0}}) {
    CHECK(p->api.MemAlloc(&memory, size) == CUDA_ERROR_OUT_OF_MEMORY);
  }
  CHECK(p->api.MemAllocPitch(&memory, &pitch, 512, size_t{1} << 40, 4) == CUDA_ERROR_OUT_OF_MEMORY);
  CHECK(memory == kUntouched && pitch == 7);
}
