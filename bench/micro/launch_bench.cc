// What the runtime does on the thread of a launch, from where the launch is seen to where it is
// left again, without the driver's own part: while memory suffices, while a trace is recorded, and
// where memory is short but all that is named is in place (the marks in streams are the driver's).
// 64 launches that differ in shape and in what they name follow each other. Needs a driver, the
// simulated one is as good: VRAMSPAN_DRIVER=build/release/lib/simcuda/libcuda.so.1.
//
// Instructions of a launch: callgrind_annotate --inclusive=yes --tree=caller of a run under
// `valgrind --tool=callgrind` with --benchmark_filter=NAME$; what Enter and Exit of
// runtime/api/tracing.cc took, by their calls.
#include <benchmark/benchmark.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "runtime/api/runtime.h"
#include "runtime/api/tracing.h"
#include "runtime/observe/call_params.h"
#include "tools/simcuda/kernel_images.h"

SIMCUDA_DECLARE_KERNELS(decode_kernels);

namespace {

using vramspan::Bytes;
using vramspan::MiB;
using vramspan::Runtime;

constexpr size_t kLaunches = 64;
constexpr size_t kAllocations = 16;
constexpr Bytes kAllocation = MiB(4);
// Fewer than what fills a stream's queue: none waits for the device.
constexpr size_t kBatch = 256, kBatches = 400;

const vramspanLaunchSink* sink = nullptr;

int Take(const vramspanLaunchSink* offered, const char*, char*, size_t) {
  sink = offered;
  return 0;
}

void Must(bool good, const std::string& what) {
  if (good) return;
  std::fprintf(stderr, "%s\n", what.c_str());
  std::exit(1);
}

enum class Memory { kFits, kRecorded, kShort };

// A runtime whose launches come from here.
class World {
 public:
  explicit World(Memory memory)
      : path_(std::filesystem::temp_directory_path() /
              ("launch_bench." + std::to_string(getpid()) + ".vramspan")) {
    vramspan::Tracing::OfferHooks(&Take);
    setenv("VRAMSPAN_RECORD_TIMES", "none", 1);
    vramspanConfig config{};
    config.struct_size = sizeof(config);
    config.device_memory = "256MiB";
    config.tracer = "hooks";
    config.overlap = "safe";
    if (memory == Memory::kRecorded) config.record = path_.c_str();
    auto runtime = Runtime::Create(&config);
    Must(runtime.ok(), std::string(runtime.status().message()));
    runtime_ = *std::move(runtime);
    const vramspan::DriverApi& api = runtime_->driver()->api();
    Must(api.DevicePrimaryCtxRetain(&context_, 0) == CUDA_SUCCESS, "no primary context");
    Must(api.CtxSetCurrent(context_) == CUDA_SUCCESS, "cuCtxSetCurrent failed");
    CUmodule module = nullptr;
    Must(simcuda::LoadKernels(decode_kernels_images(), api.ModuleLoadData, &module) == CUDA_SUCCESS,
         "cuModuleLoadData failed");
    Must(api.ModuleGetFunction(&eight_, module, "eight") == CUDA_SUCCESS &&
             api.ModuleGetFunction(&some_, module, "some") == CUDA_SUCCESS &&
             api.ModuleGetFunction(&block_, module, "block") == CUDA_SUCCESS,
         "cuModuleGetFunction failed");
    for (size_t i = 0; i < kAllocations; ++i) {
      const auto allocated = runtime_->Allocate(kAllocation);
      Must(allocated.ok(), "an allocation failed");
      memory_.push_back(allocated->value);
    }
    // As much as all that there is: what was there before stays where it is.
    if (memory == Memory::kShort) Must(runtime_->Allocate(MiB(256)).ok(), "an allocation failed");
  }
  ~World() {
    runtime_.reset();
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  void Synchronize() const {
    Must(runtime_->driver()->api().CtxSynchronize() == CUDA_SUCCESS, "cuCtxSynchronize failed");
  }
  CUcontext context() const { return context_; }
  CUfunction eight() const { return eight_; }
  CUfunction some() const { return some_; }
  CUfunction block() const { return block_; }
  // Another aligned address for each i, over all allocations.
  uint64_t Address(size_t i) const {
    return memory_[i % kAllocations] + i / kAllocations * 16384 % kAllocation.value;
  }

 private:
  const std::filesystem::path path_;
  std::unique_ptr<Runtime> runtime_;
  CUcontext context_ = nullptr;
  CUfunction eight_ = nullptr, some_ = nullptr, block_ = nullptr;
  std::vector<uint64_t> memory_;
};

enum class Kernel { kEight, kCrowded, kSome, kProduct, kBlock };

struct Launch {
  std::vector<uint64_t> words;
  std::vector<void*> parameters;
  cuLaunchKernel_params call{};
};

std::vector<Launch> MakeLaunches(const World& world, Kernel kernel) {
  std::vector<Launch> launches(kLaunches);
  for (size_t l = 0; l < kLaunches; ++l) {
    Launch& launch = launches[l];
    CUfunction function = world.eight();
    if (kernel == Kernel::kEight) {
      // Three pointers, and small numbers.
      for (size_t i = 0; i < 8; ++i) launch.words.push_back(i < 3 ? world.Address(l * 3 + i) : i);
      for (uint64_t& word : launch.words) launch.parameters.push_back(&word);
    } else if (kernel == Kernel::kCrowded) {
      // More kinds of launches than are remembered of a boundary go from the same three pointers.
      for (size_t i = 0; i < 8; ++i) {
        launch.words.push_back(i < 3 ? world.Address(i * kAllocations) : i);
      }
      for (uint64_t& word : launch.words) launch.parameters.push_back(&word);
    } else if (kernel == Kernel::kSome) {
      // Of an element-wise kernel: nine pointers in 1.7 KiB of sizes and strides.
      function = world.some();
      for (size_t i = 0; i < 216; ++i) {
        launch.words.push_back(i % 24 == 1 ? world.Address(l * 9 + i / 24) : i * l);
      }
    } else if (kernel == Kernel::kProduct) {
      // Of a matrix product: four pointers, each of them five times, in 1.7 KiB.
      function = world.some();
      for (size_t i = 0; i < 216; ++i) {
        launch.words.push_back(i % 10 == 3 ? world.Address(l * 4 + i / 10 % 4) : i * l);
      }
    } else {
      // Of an optimizer over many tensors: half of 4 KiB are pointers.
      function = world.block();
      for (size_t i = 0; i < 512; ++i) {
        launch.words.push_back(i % 2 == 0 ? world.Address(l * 256 + i / 2) : i);
      }
    }
    if (launch.parameters.empty()) launch.parameters.push_back(launch.words.data());
    launch.call = {.f = function,
                   .gridDimX = static_cast<unsigned>(l + 1),
                   .gridDimY = 1,
                   .gridDimZ = 1,
                   .blockDimX = 128,
                   .blockDimY = 1,
                   .blockDimZ = 1,
                   .kernelParams = launch.parameters.data()};
  }
  return launches;
}

// What a program does between two launches takes the nearer caches from the runtime.
class Between {
 public:
  void Run() {
    for (size_t i = 0; i < bytes_.size(); i += 64) sum_ += bytes_[i];
    benchmark::DoNotOptimize(sum_);
  }

 private:
  std::vector<unsigned char> bytes_ = std::vector<unsigned char>(size_t{4} << 20, 1);
  uint64_t sum_ = 0;
};

// The word of a launch that nothing reads: programs leave there what lay there before.
uint64_t& Gap(Launch& launch) { return launch.words[7]; }

void Make(const World& world, const Launch& launch) {
  uint64_t token = 0;
  sink->enter(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, &launch.call, world.context(), &token);
  sink->exit(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, &launch.call, CUDA_SUCCESS, token);
}

void Measure(benchmark::State& state, Memory memory, Kernel kernel) {
  const World world(memory);
  const std::vector<Launch> launches = MakeLaunches(world, kernel);
  size_t next = 0;
  for (auto _ : state) Make(world, launches[next++ % kLaunches]);
}

// With UseManualTime: what is between the launches does not count.
void Cold(benchmark::State& state, Kernel kernel) {
  const World world(Memory::kRecorded);
  const std::vector<Launch> launches = MakeLaunches(world, kernel);
  Between between;
  size_t next = 0;
  for (auto _ : state) {
    between.Run();
    const auto begin = std::chrono::steady_clock::now();
    Make(world, launches[next++ % kLaunches]);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    state.SetIterationTime(took.count());
  }
}

enum class Again { kSame, kOther };

// With UseManualTime: that the device gets ahead again between batches does not count. Each launch
// comes again as it was, or with another word in a gap of its parameters.
void Armed(benchmark::State& state, Kernel kernel, Again again) {
  const World world(Memory::kShort);
  std::vector<Launch> launches = MakeLaunches(world, kernel);
  uint64_t made = 0;
  for (auto _ : state) {
    const auto begin = std::chrono::steady_clock::now();
    for (size_t i = 0; i < kBatch; ++i) {
      Launch& launch = launches[i % kLaunches];
      if (again == Again::kOther) Gap(launch) = ++made;
      Make(world, launch);
    }
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    state.SetIterationTime(took.count() / kBatch);
    world.Synchronize();
  }
}

BENCHMARK_CAPTURE(Measure, fits_eight, Memory::kFits, Kernel::kEight);
BENCHMARK_CAPTURE(Measure, fits_some, Memory::kFits, Kernel::kSome);
BENCHMARK_CAPTURE(Measure, recorded_eight, Memory::kRecorded, Kernel::kEight);
BENCHMARK_CAPTURE(Measure, recorded_some, Memory::kRecorded, Kernel::kSome);
BENCHMARK_CAPTURE(Measure, recorded_product, Memory::kRecorded, Kernel::kProduct);
BENCHMARK_CAPTURE(Measure, recorded_block, Memory::kRecorded, Kernel::kBlock);
BENCHMARK_CAPTURE(Armed, short, Kernel::kEight, Again::kSame)
    ->UseManualTime()
    ->Unit(benchmark::kMicrosecond)
    ->Iterations(kBatches);
BENCHMARK_CAPTURE(Armed, short_crowded, Kernel::kCrowded, Again::kSame)
    ->UseManualTime()
    ->Unit(benchmark::kMicrosecond)
    ->Iterations(kBatches);
BENCHMARK_CAPTURE(Armed, short_some, Kernel::kSome, Again::kSame)
    ->UseManualTime()
    ->Unit(benchmark::kMicrosecond)
    ->Iterations(kBatches);
BENCHMARK_CAPTURE(Armed, short_other, Kernel::kEight, Again::kOther)
    ->UseManualTime()
    ->Unit(benchmark::kMicrosecond)
    ->Iterations(kBatches);
BENCHMARK_CAPTURE(Armed, short_some_other, Kernel::kSome, Again::kOther)
    ->UseManualTime()
    ->Unit(benchmark::kMicrosecond)
    ->Iterations(kBatches);
BENCHMARK_CAPTURE(Cold, recorded_eight, Kernel::kEight)->UseManualTime();
BENCHMARK_CAPTURE(Cold, recorded_some, Kernel::kSome)->UseManualTime();
BENCHMARK_CAPTURE(Cold, recorded_product, Kernel::kProduct)->UseManualTime();
BENCHMARK_CAPTURE(Cold, recorded_block, Kernel::kBlock)->UseManualTime();

}  // namespace
