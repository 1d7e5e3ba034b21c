// Whether several threads make page table updates faster than one: each maps a chunk of device
// memory, gives access and unmaps it, over and over, on memory and addresses of its own.
// Microseconds a call, medians, and remaps a millisecond of all threads, alone and beside what else
// runs.
// nvcc -std=c++17 -O2 -arch=sm_90 -o remaps_at_once remaps_at_once.cu -lcuda
#include "probe.h"

namespace {

struct Times {
  std::vector<double> map, access, unmap;
};

void Remap(size_t size, const std::atomic<bool>& stop, Times* times) {
  CUmemAllocationProp prop{};
  prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  prop.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
  const CUmemAccessDesc access{{CU_MEM_LOCATION_TYPE_DEVICE, 0},
                               CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  CUmemGenericAllocationHandle handle;
  CU(cuMemCreate(&handle, size, &prop, 0));
  CUdeviceptr va;
  CU(cuMemAddressReserve(&va, size, 0, 0, 0));
  const auto timed = [](std::vector<double>* all, auto call) {
    const auto begin = Clock::now();
    call();
    all->push_back(MicrosecondsSince(begin));
  };
  while (!stop) {
    timed(&times->map, [&] { CU(cuMemMap(va, size, 0, handle, 0)); });
    timed(&times->access, [&] { CU(cuMemSetAccess(va, size, &access, 1)); });
    timed(&times->unmap, [&] { CU(cuMemUnmap(va, size)); });
  }
  CU(cuMemRelease(handle));
  CU(cuMemAddressFree(va, size));
}

void Measure(size_t size, size_t threads, CUcontext context) {
  constexpr std::chrono::milliseconds kFor{400};
  std::atomic<bool> stop{false};
  std::vector<Times> times(threads);
  std::vector<std::thread> running;
  for (Times& t : times) {
    running.emplace_back([&, out = &t] {
      CU(cuCtxSetCurrent(context));
      Remap(size, stop, out);
    });
  }
  std::this_thread::sleep_for(kFor);
  stop = true;
  for (std::thread& thread : running) thread.join();
  size_t remaps = 0;
  for (const Times& t : times) remaps += t.map.size();
  std::printf("  %2zu MiB, %zu threads: map %.1f, access %.1f, unmap %.1f; %.2f a ms\n",
              size / kMiB, threads, Median(times[0].map), Median(times[0].access),
              Median(times[0].unmap), static_cast<double>(remaps) / kFor.count());
}

}  // namespace

int main() {
  CU(cudaFree(nullptr));
  CUcontext program;
  CU(cuCtxGetCurrent(&program));
  const Mover mover;
  const Beside::Load in = [&](auto& stop) { mover.CopyIn(stop); };
  const Beside::Load out = [&](auto& stop) { mover.CopyOut(stop, 4 * kMiB); };
  const Beside::Load kernels = [&](auto& stop) {
    CU(cuCtxSetCurrent(program));
    cudaStream_t stream;
    CU(cudaStreamCreate(&stream));
    while (!stop) {
      for (int i = 0; i < 100; ++i) Spin<<<132, 64, 0, stream>>>(20'000);
      CU(cudaStreamSynchronize(stream));
    }
  };
  const std::pair<const char*, std::vector<Beside::Load>> loads[] = {
      {"idle", {}},
      {"kernels", {kernels}},
      {"copies in", {in}},
      {"copies both ways, out 4 MiB at a time", {in, out}},
      {"kernels and such copies both ways", {kernels, in, out}},
  };
  for (const auto& [name, load] : loads) {
    const Beside beside(load);
    std::printf("%s\n", name);
    for (const size_t threads : {1, 2, 3}) Measure(16 * kMiB, threads, mover.context());
  }
}
