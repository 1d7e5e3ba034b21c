// What a launch costs the thread that makes it (traced_workloads.h).
#include <chrono>

#include "bench/workloads/traced_workloads.h"
#include "tools/simcuda/kernel_images.h"

SIMCUDA_DECLARE_KERNELS(traced_kernels);

namespace vramspan::bench {
namespace {

// Fewer than what fills a stream's queue: no launch waits for the GPU.
constexpr int kBatch = 256;

class Launches {
 public:
  explicit Launches(Bench& bench)
      : bench_(bench),
        function_(bench.machine.Function(bench.machine.LoadModule(traced_kernels_images()),
                                         "nothing_with")) {}

  // Microseconds of a launch with this pointer: the median of batches.
  double Measure(CUdeviceptr ptr) const {
    const Machine& machine = bench_.machine;
    const CUstream stream = bench_.passes.stream();
    const int batches = bench_.settings.small ? 5 : 200;
    std::vector<double> us;
    for (int batch = -5; batch < batches; ++batch) {
      const auto start = std::chrono::steady_clock::now();
      for (int i = 0; i < kBatch; ++i) machine.Launch(function_, 1, 32, stream, {&ptr});
      const std::chrono::duration<double, std::micro> time =
          std::chrono::steady_clock::now() - start;
      machine.Synchronize(stream);
      if (batch >= 0) us.push_back(time.count() / kBatch);
    }
    return Median(us);
  }

  void Report(const std::string& way, double us) const {
    std::vector<LaunchRow>& rows = bench_.report.launches;
    rows.push_back({way, us, rows.empty() ? 0 : us - rows.front().us});
  }

 private:
  Bench& bench_;
  const CUfunction function_;
};

}  // namespace

void MeasureLaunches(Bench& bench) {
  const Launches launches(bench);
  const size_t budget = bench.settings.budget;
  launches.Report("plain", launches.Measure(bench.memory.Device(budget / 4)));
  for (const std::string& overlap : bench.settings.overlaps) {
    const Runtime runtime =
        MakeRuntime(bench.machine, budget, bench.settings.chunk, bench.settings.policy, overlap);
    const Buffer<uint8_t> all = runtime.alloc<uint8_t>(budget / 4);
    launches.Report("traced, " + overlap, launches.Measure(all.ptr()));
    // Memory is short, but what the kernel names is where it should be.
    const Buffer<uint8_t> more = runtime.alloc<uint8_t>(budget);
    launches.Report("traced, " + overlap + ", memory short", launches.Measure(all.ptr()));
    runtime.synchronize();
  }
  launches.Report("CUPTI, no runtime", launches.Measure(bench.memory.Device(budget / 4)));
}

}  // namespace vramspan::bench
