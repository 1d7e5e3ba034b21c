// What page table updates of one thread cost the launches of another: a thread of the program
// launches small kernels, a few microseconds apart, while the mover's thread maps, gives access to
// and unmaps a chunk of 16 MiB over and over, beside what else runs. Of the launches: microseconds,
// the mean, the median, the 90th and the 99th of a hundred; of the remaps the means.
// nvcc -std=c++17 -O2 -arch=sm_90 -o launches_beside_remaps launches_beside_remaps.cu -lcuda
#include "probe.h"

namespace {

constexpr std::chrono::milliseconds kFor{600};
constexpr size_t kSize = 16 * kMiB;

struct Mean {
  double sum = 0;
  size_t count = 0;
  void Add(double value) { sum += value, ++count; }
  double get() const { return count == 0 ? 0 : sum / static_cast<double>(count); }
};

double At(std::vector<double>* sorted, double share) {
  return (*sorted)[static_cast<size_t>(share * static_cast<double>(sorted->size() - 1))];
}

// With a pause of 100 us behind each remap, or without.
void Measure(CUcontext program, CUcontext movers, bool remaps, bool pause, bool writes) {
  std::atomic<bool> stop{false};
  Mean map, access, unmap;
  std::thread mover([&] {
    if (!remaps) return;
    CU(cuCtxSetCurrent(movers));
    CUmemAllocationProp prop{};
    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
    const CUmemAccessDesc give{{CU_MEM_LOCATION_TYPE_DEVICE, 0},
                               CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CUmemGenericAllocationHandle handle;
    CU(cuMemCreate(&handle, kSize, &prop, 0));
    CUdeviceptr va;
    CU(cuMemAddressReserve(&va, kSize, 0, 0, 0));
    const auto timed = [](Mean* mean, auto call) {
      const auto begin = Clock::now();
      call();
      mean->Add(MicrosecondsSince(begin));
    };
    while (!stop) {
      timed(&map, [&] { CU(cuMemMap(va, kSize, 0, handle, 0)); });
      timed(&access, [&] { CU(cuMemSetAccess(va, kSize, &give, 1)); });
      timed(&unmap, [&] { CU(cuMemUnmap(va, kSize)); });
      if (!pause) continue;
      for (const auto begin = Clock::now(); MicrosecondsSince(begin) < 100;) {
      }
    }
    CU(cuMemRelease(handle));
    CU(cuMemAddressFree(va, kSize));
  });
  CU(cuCtxSetCurrent(program));
  cudaStream_t stream;
  CU(cudaStreamCreate(&stream));
  uint32_t* word;
  CU(cudaHostAlloc(&word, 64, cudaHostAllocDefault));
  std::vector<double> times;
  const auto start = Clock::now();
  for (int i = 0; Clock::now() - start < kFor; ++i) {
    const auto begin = Clock::now();
    Spin<<<1, 32, 0, stream>>>(0);
    if (writes) {
      CU(cuStreamWriteValue32(stream, reinterpret_cast<CUdeviceptr>(word), i,
                              CU_STREAM_WRITE_VALUE_DEFAULT));
    }
    times.push_back(MicrosecondsSince(begin));
    for (const auto wait = Clock::now(); MicrosecondsSince(wait) < 15;) {
    }
  }
  stop = true;
  mover.join();
  CU(cudaStreamSynchronize(stream));
  CU(cudaStreamDestroy(stream));
  CU(cudaFreeHost(word));
  double sum = 0;
  for (const double t : times) sum += t;
  std::sort(times.begin(), times.end());
  std::printf("  %-26s %-12s launch %.1f, %.1f, %.1f, %.1f",
              remaps ? pause ? "remaps, 100 us apart" : "remaps" : "no remaps",
              writes ? "and a write" : "", sum / static_cast<double>(times.size()), At(&times, .5),
              At(&times, .9), At(&times, .99));
  if (remaps)
    std::printf("; map %.1f, access %.1f, unmap %.1f", map.get(), access.get(), unmap.get());
  std::printf("\n");
}

}  // namespace

int main() {
  CU(cudaFree(nullptr));
  CUcontext program;
  CU(cuCtxGetCurrent(&program));
  const Mover mover;
  const Beside::Load in = [&](auto& stop) { mover.CopyIn(stop); };
  const Beside::Load out4 = [&](auto& stop) { mover.CopyOut(stop, 4 * kMiB); };
  const Beside::Load out16 = [&](auto& stop) { mover.CopyOut(stop, 16 * kMiB); };
  const std::pair<const char*, std::vector<Beside::Load>> loads[] = {
      {"idle", {}},
      {"copies in", {in}},
      {"copies both ways, out 4 MiB at a time", {in, out4}},
      {"copies out, 16 MiB at a time", {out16}},
  };
  for (const auto& [name, load] : loads) {
    const Beside beside(load);
    std::printf("%s\n", name);
    for (const bool writes : {false, true}) {
      Measure(program, mover.context(), false, false, writes);
      Measure(program, mover.context(), true, true, writes);
      Measure(program, mover.context(), true, false, writes);
    }
  }
}
