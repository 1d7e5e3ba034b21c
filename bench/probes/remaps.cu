// What the page table updates of a move cost: unmapping a chunk of device memory and setting its
// access, for handles one by one and for several with one call; microseconds a handle, median of
// 15, alone and beside what else runs.
// nvcc -std=c++17 -O2 -arch=sm_90 -o remaps remaps.cu -lcuda
#include "probe.h"

namespace {

void Measure(size_t size, size_t handles) {
  CUmemAllocationProp prop{};
  prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  prop.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
  const CUmemAccessDesc access{{CU_MEM_LOCATION_TYPE_DEVICE, 0},
                               CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  std::vector<CUmemGenericAllocationHandle> made(handles);
  for (auto& handle : made) CU(cuMemCreate(&handle, size, &prop, 0));
  CUdeviceptr va;
  CU(cuMemAddressReserve(&va, size * handles, 0, 0, 0));
  const auto map = [&] {
    for (size_t i = 0; i < handles; ++i) CU(cuMemMap(va + i * size, size, 0, made[i], 0));
  };
  const auto timed = [&](std::vector<double>* times, auto call) {
    const auto begin = Clock::now();
    call();
    times->push_back(MicrosecondsSince(begin) / static_cast<double>(handles));
  };
  std::vector<double> unmap_each, unmap_all, access_each, access_all;
  for (int round = 0; round < 15; ++round) {
    map();
    timed(&access_all, [&] { CU(cuMemSetAccess(va, size * handles, &access, 1)); });
    timed(&unmap_all, [&] { CU(cuMemUnmap(va, size * handles)); });
    map();
    timed(&access_each, [&] {
      for (size_t i = 0; i < handles; ++i) CU(cuMemSetAccess(va + i * size, size, &access, 1));
    });
    timed(&unmap_each, [&] {
      for (size_t i = 0; i < handles; ++i) CU(cuMemUnmap(va + i * size, size));
    });
  }
  std::printf("%3zu MiB x %zu: unmap %.0f / %.0f, access %.0f / %.0f\n", size / kMiB, handles,
              Median(unmap_each), Median(unmap_all), Median(access_each), Median(access_all));
  for (auto handle : made) CU(cuMemRelease(handle));
  CU(cuMemAddressFree(va, size * handles));
}

}  // namespace

int main() {
  CU(cudaFree(nullptr));
  CUcontext program;
  CU(cuCtxGetCurrent(&program));
  const Mover mover;
  float4* data;
  CU(cudaMalloc(&data, 1024 * kMiB));
  const Beside::Load in = [&](auto& stop) { mover.CopyIn(stop); };
  const Beside::Load out = [&](auto& stop) { mover.CopyOut(stop); };
  const Beside::Load kernels = [&](auto& stop) {
    CU(cuCtxSetCurrent(program));
    cudaStream_t stream;
    CU(cudaStreamCreate(&stream));
    while (!stop) {
      for (int i = 0; i < 20; ++i) Touch<<<1056, 512, 0, stream>>>(data, 1024 * kMiB / 16);
      CU(cudaStreamSynchronize(stream));
    }
  };
  const std::pair<const char*, std::vector<Beside::Load>> loads[] = {
      {"idle", {}},
      {"copies in", {in}},
      {"memory-bound kernels", {kernels}},
      {"such kernels and copies in", {kernels, in}},
      {"copies out, 16 MiB at a time", {out}},
      {"such kernels and copies both ways", {kernels, in, out}},
  };
  for (const auto& [name, load] : loads) {
    const Beside beside(load);
    std::printf("%s (one by one / with one call)\n", name);
    for (const size_t mib : {2, 16, 64}) {
      for (const size_t handles : {1, 4, 8}) Measure(mib * kMiB, handles);
    }
  }
}
