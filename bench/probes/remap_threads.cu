// What the page table updates of a move cost beside a program's thread that launches, is blocked or
// waits, with the program's context current in the thread that makes them and with another one;
// microseconds for a handle of device memory, median of 40.
// nvcc -std=c++17 -O2 -arch=sm_90 -o remap_threads remap_threads.cu -lcuda
#include "probe.h"

namespace {

void Measure(const char* name, const Mover& mover, CUcontext program, size_t size) {
  CUmemAllocationProp prop{};
  prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  prop.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
  const CUmemAccessDesc access{{CU_MEM_LOCATION_TYPE_DEVICE, 0},
                               CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  for (const bool own : {false, true}) {
    CU(cuCtxSetCurrent(own ? mover.context() : program));
    CUmemGenericAllocationHandle made;
    CU(cuMemCreate(&made, size, &prop, 0));
    CUdeviceptr va;
    CU(cuMemAddressReserve(&va, size, 0, 0, 0));
    std::vector<double> unmap, give;
    for (int round = 0; round < 40; ++round) {
      CU(cuMemMap(va, size, 0, made, 0));
      auto begin = Clock::now();
      CU(cuMemSetAccess(va, size, &access, 1));
      give.push_back(MicrosecondsSince(begin));
      begin = Clock::now();
      CU(cuMemUnmap(va, size));
      unmap.push_back(MicrosecondsSince(begin));
      // As moves come.
      for (begin = Clock::now(); MicrosecondsSince(begin) < 300;) {
      }
    }
    const double most = *std::max_element(unmap.begin(), unmap.end());
    std::printf("%-44s %3zu MiB, %-9s unmap %4.0f (most %5.0f), access %4.0f\n", name, size / kMiB,
                own ? "own" : "program's", Median(unmap), most, Median(give));
    CU(cuMemRelease(made));
    CU(cuMemAddressFree(va, size));
  }
  CU(cuCtxSetCurrent(program));
}

}  // namespace

int main() {
  CU(cudaFree(nullptr));
  CUcontext program;
  CU(cuCtxGetCurrent(&program));
  const Mover mover;
  float4* data;
  CU(cudaMalloc(&data, 1024 * kMiB));
  unsigned* words;
  CU(cudaMallocHost(&words, 4096));
  volatile unsigned* const done = words;
  volatile unsigned* const open = words + 64;
  const auto address = [&](volatile unsigned* w) { return reinterpret_cast<CUdeviceptr>(w); };
  // Launches of 50 us, at most `ahead` not run, each held by a wait and followed by a write.
  const auto launches = [&](unsigned ahead, size_t bytes) {
    return [&, ahead, bytes](const std::atomic<bool>& stop) {
      CU(cuCtxSetCurrent(program));
      cudaStream_t stream;
      CU(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
      *done = 0;
      *open = 1;
      for (unsigned n = 1; !stop; ++n) {
        CU(cuStreamWaitValue32(stream, address(open), 1, CU_STREAM_WAIT_VALUE_GEQ));
        Touch<<<1056, 512, 0, stream>>>(data, bytes / 16);
        CU(cuStreamWriteValue32(stream, address(done), n, 0));
        while (!stop && n - *done > ahead) {
        }
      }
      CU(cudaStreamSynchronize(stream));
    };
  };
  const Beside::Load few = launches(100, 64 * kMiB);
  const Beside::Load one = launches(1, 4 * kMiB);
  const auto parked = [&](int count, bool wait) {
    return [&, count, wait](const std::atomic<bool>& stop) {
      CU(cuCtxSetCurrent(program));
      cudaStream_t stream;
      CU(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
      *open = 0;
      std::thread opens([&] {
        while (!stop) std::this_thread::yield();
        *open = 1;
      });
      CU(cuStreamWaitValue32(stream, address(open), 1, CU_STREAM_WAIT_VALUE_GEQ));
      for (int i = 0; i < count; ++i) Touch<<<132, 512, 0, stream>>>(data, 65536);
      if (wait) CU(cudaStreamSynchronize(stream));
      opens.join();
      CU(cudaStreamSynchronize(stream));
    };
  };
  const Beside::Load in = [&](auto& stop) { mover.CopyIn(stop); };
  const Beside::Load out = [&](auto& stop) { mover.CopyOut(stop); };
  const std::pair<const char*, std::vector<Beside::Load>> loads[] = {
      {"idle", {}},
      {"copies in", {in}},
      {"copies both ways", {in, out}},
      {"a parked stream, 100 behind", {parked(100, false)}},
      {"the same, and a thread that waits for it", {parked(100, true)}},
      {"a thread blocked in a launch", {parked(1500, true)}},
      {"that and copies in", {parked(1500, true), in}},
      {"launches one at a time", {one}},
      {"launches 100 ahead", {few}},
      {"launches one at a time, copies in", {one, in}},
      {"launches 100 ahead, copies in", {few, in}},
      {"launches 100 ahead, copies both ways", {few, in, out}},
  };
  for (const auto& [name, load] : loads) {
    const Beside beside(load);
    for (const size_t mib : {16, 64}) Measure(name, mover, program, mib * kMiB);
  }
}
