// What stream memory operations and events between kernels cost the device, alone and beside copies
// of another context: microseconds a launch, of 300 behind each other, median of 7.
// nvcc -std=c++17 -O2 -arch=sm_90 -o stream_operations stream_operations.cu -lcuda
#include "probe.h"

namespace {

constexpr int kLaunches = 300;

struct Way {
  const char* name;
  bool wait, write, barrier, events;
};
constexpr Way kWays[] = {
    {"plain", false, false, true, false},
    {"write", false, true, true, false},
    {"write, no barrier", false, true, false, false},
    {"wait", true, false, true, false},
    {"wait+write", true, true, true, false},
    {"two events", false, false, true, true},
    {"wait+write+two events", true, true, true, true},
};

}  // namespace

int main() {
  CU(cudaFree(nullptr));
  const Mover mover;
  float4* data;
  CU(cudaMalloc(&data, 128 * kMiB));
  unsigned* flag;
  CUdeviceptr address;
  CU(cuMemHostAlloc(reinterpret_cast<void**>(&flag), 4096, CU_MEMHOSTALLOC_DEVICEMAP));
  CU(cuMemHostGetDevicePointer(&address, flag, 0));
  *flag = 1;
  CUstream stream;
  CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  std::vector<cudaEvent_t> events(2 * kLaunches + 2);
  for (cudaEvent_t& event : events) CU(cudaEventCreate(&event));

  const Beside::Load in = [&](auto& stop) { mover.CopyIn(stop); };
  const Beside::Load out = [&](auto& stop) { mover.CopyOut(stop); };
  const Beside::Load kernels = [&](auto& stop) { mover.Kernels(stop); };
  const std::pair<const char*, std::vector<Beside::Load>> loads[] = {
      {"idle", {}},
      {"copies in", {in}},
      {"copies in and out", {in, out}},
      {"kernels of another context", {kernels}},
      {"copies in and such kernels", {in, kernels}},
  };
  for (const bool large : {false, true}) {
    for (const auto& [name, load] : loads) {
      const Beside beside(load);
      std::printf("%s, %s:", large ? "kernels over 128 MiB" : "kernels of 20 us", name);
      for (const Way& way : kWays) {
        std::vector<double> times;
        for (int round = 0; round < 8; ++round) {
          // All is queued behind it.
          Spin<<<1, 1, 0, stream>>>(20'000'000);
          CU(cudaEventRecord(events[2 * kLaunches], stream));
          for (int i = 0; i < kLaunches; ++i) {
            if (way.wait) CU(cuStreamWaitValue32(stream, address, 1, CU_STREAM_WAIT_VALUE_GEQ));
            if (way.events) CU(cudaEventRecord(events[2 * i], stream));
            if (large) {
              Touch<<<1056, 512, 0, stream>>>(data, 128 * kMiB / 16);
            } else {
              Spin<<<132, 128, 0, stream>>>(36'000);
            }
            if (way.events) CU(cudaEventRecord(events[2 * i + 1], stream));
            if (way.write) {
              CU(cuStreamWriteValue32(stream, address + 64, i,
                                      way.barrier ? CU_STREAM_WRITE_VALUE_DEFAULT
                                                  : CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER));
            }
          }
          CU(cudaEventRecord(events[2 * kLaunches + 1], stream));
          CU(cuStreamSynchronize(stream));
          float ms;
          CU(cudaEventElapsedTime(&ms, events[2 * kLaunches], events[2 * kLaunches + 1]));
          if (round != 0) times.push_back(ms * 1000 / kLaunches);
        }
        std::printf(" %s %.1f;", way.name, Median(times));
      }
      std::puts("");
    }
  }
}
