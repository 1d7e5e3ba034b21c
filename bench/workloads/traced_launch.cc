// What a launch costs the thread that makes it (traced_workloads.h).
#include <unistd.h>

#include <chrono>
#include <filesystem>

#include "bench/workloads/traced_ids.h"
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
        module_(bench.machine.LoadModule(traced_kernels_images())),
        one_(bench.machine.Function(module_, "nothing_with")),
        many_(bench.machine.Function(module_, "nothing_with_many")) {}

  // Launches with this pointer, and with nine into as much as `size` behind it.
  void Measure(const std::string& way, CUdeviceptr ptr, size_t size) const {
    Report("one pointer", way, Time(one_, &ptr));
    ManyParameters block{};
    for (size_t i = 0; i < std::size(block.pointers); ++i) {
      block.pointers[i] = reinterpret_cast<const void*>(
          ptr + i * (size / std::size(block.pointers) & ~size_t{255}));
    }
    for (uint32_t i = 0; i < std::size(block.numbers); ++i) block.numbers[i] = i % 7;
    Report("nine in 1.7 KiB", way, Time(many_, &block));
  }

 private:
  // Microseconds of a launch: the median of batches.
  double Time(CUfunction function, void* parameter) const {
    const Machine& machine = bench_.machine;
    const CUstream stream = bench_.passes.stream();
    const int batches = bench_.settings.small ? 5 : 200;
    std::vector<double> us;
    for (int batch = -5; batch < batches; ++batch) {
      const auto start = std::chrono::steady_clock::now();
      for (int i = 0; i < kBatch; ++i) machine.Launch(function, 1, 32, stream, {parameter});
      const std::chrono::duration<double, std::micro> time =
          std::chrono::steady_clock::now() - start;
      machine.Synchronize(stream);
      if (batch >= 0) us.push_back(time.count() / kBatch);
    }
    return Median(us);
  }

  void Report(const std::string& kernel, const std::string& way, double us) const {
    std::vector<LaunchRow>& rows = bench_.report.launches;
    const auto plain = std::find_if(rows.begin(), rows.end(),
                                    [&](const LaunchRow& r) { return r.kernel == kernel; });
    rows.push_back({kernel, way, us, plain == rows.end() ? 0 : us - plain->us});
  }

  Bench& bench_;
  const CUmodule module_;
  const CUfunction one_, many_;
};

// A trace that is thrown away.
class Scratch {
 public:
  Scratch()
      : path_(std::filesystem::temp_directory_path() /
              ("traced_bench." + std::to_string(getpid()) + ".vramspan")) {}
  ~Scratch() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  std::string path() const { return path_.string(); }

 private:
  const std::filesystem::path path_;
};

}  // namespace

void MeasureLaunches(Bench& bench) {
  const Launches launches(bench);
  const size_t budget = bench.settings.budget, part = budget / 4;
  const std::string &chunk = bench.settings.chunk, &policy = bench.settings.policy;
  launches.Measure("plain", bench.memory.Device(part), part);
  for (const std::string& overlap : bench.settings.overlaps) {
    const Runtime runtime = MakeRuntime(bench.machine, budget, chunk, policy, overlap);
    const Buffer<uint8_t> all = runtime.alloc<uint8_t>(part);
    launches.Measure("traced, " + overlap, all.ptr(), part);
    // Memory is short, but what the kernel names is where it should be.
    const Buffer<uint8_t> more = runtime.alloc<uint8_t>(budget);
    launches.Measure("traced, " + overlap + ", memory short", all.ptr(), part);
    runtime.synchronize();
  }
  {
    const Scratch trace;
    const Runtime runtime = MakeRuntime(bench.machine, budget, chunk, policy, "safe", trace.path());
    const Buffer<uint8_t> all = runtime.alloc<uint8_t>(part);
    launches.Measure("recorded", all.ptr(), part);
    runtime.synchronize();
  }
  launches.Measure("CUPTI, no runtime", bench.memory.Device(part), part);
}

}  // namespace vramspan::bench
