// What a program says to the vramspan that it was started with, by names that it looks up.
#include <dlfcn.h>

#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "include/vramspan/process.h"
#include "tests/preload/program_scenarios.h"

namespace {

template <typename Function>
Function Preloads(const char* name) {
  const auto function = reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
  CHECK(function != nullptr);
  return function;
}

}  // namespace

void SayWhatIsWanted(Program* p) {
  const auto pin = Preloads<decltype(&vramspanProcessPin)>("vramspanPreloadPin");
  const auto unpin = Preloads<decltype(&vramspanProcessUnpin)>("vramspanPreloadUnpin");
  const auto prefetch = Preloads<decltype(&vramspanProcessPrefetch)>("vramspanPreloadPrefetch");
  const auto discard = Preloads<decltype(&vramspanProcessDiscard)>("vramspanPreloadDiscard");
  const auto statistics =
      Preloads<decltype(&vramspanProcessStatistics)>("vramspanPreloadStatistics");
  const auto message =
      Preloads<decltype(&vramspanLastErrorMessage)>("vramspanPreloadLastErrorMessage");
  vramspanStatistics s{};
  s.struct_size = sizeof(s);

  // Before there is a driver, and before there is memory.
  CHECK(statistics(0, &s) == CUDA_ERROR_NOT_FOUND);
  CHECK(pin(0x1000, 1) == CUDA_ERROR_NOT_FOUND);
  p->Start();
  CHECK(statistics(0, &s) == CUDA_ERROR_NOT_FOUND);
  CHECK(std::strstr(message(), "on device 0") != nullptr);

  constexpr size_t kBytes = size_t{4} << 20;
  size_t free = 0, total = 0;
  CHECK_OK(p->api.MemGetInfo(&free, &total));
  std::vector<CUdeviceptr> buffers(2 * total / kBytes);
  for (CUdeviceptr& b : buffers) CHECK_OK(p->api.MemAlloc(&b, kBytes));
  CHECK_OK(pin(buffers.back(), kBytes));
  p->Work(buffers, kBytes, 2);
  CHECK_OK(statistics(0, &s));
  CHECK(s.allocated_bytes == buffers.size() * kBytes);
  CHECK(s.fetches > 0);
  CHECK(statistics(1, &s) == CUDA_ERROR_NOT_FOUND);
  CHECK_OK(unpin(buffers.back(), kBytes));
  CHECK(unpin(buffers.back(), kBytes) == CUDA_ERROR_INVALID_VALUE);
  CHECK_OK(prefetch(buffers.front(), kBytes, VRAMSPAN_LOCATION_HOST, p->stream));
  CHECK_OK(prefetch(buffers.front(), kBytes, VRAMSPAN_LOCATION_DEVICE, p->stream));
  CHECK(prefetch(0x1000, 1, VRAMSPAN_LOCATION_HOST, p->stream) == CUDA_ERROR_NOT_FOUND);
  CHECK(discard(0x1000, 1, p->stream) == CUDA_ERROR_NOT_FOUND);
  for (const CUdeviceptr b : buffers) CHECK_OK(discard(b, kBytes, p->stream));
  p->Work(buffers, kBytes, 1);
  for (const CUdeviceptr b : buffers) CHECK_OK(p->api.MemFree(b));
  for (const CUdeviceptr b : buffers) {
    CHECK(pin(b, kBytes) == CUDA_ERROR_NOT_FOUND);
    CHECK(unpin(b, kBytes) == CUDA_ERROR_NOT_FOUND);
    CHECK(discard(b, kBytes, p->stream) == CUDA_ERROR_NOT_FOUND);
    CHECK(prefetch(b, kBytes, VRAMSPAN_LOCATION_HOST, p->stream) == CUDA_ERROR_NOT_FOUND);
  }
}
