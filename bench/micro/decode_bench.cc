// What it costs to read what a call submits. Target: at most 60 ns for a launch with 8 parameters
// that was seen before, whatever the number of threads. Needs a driver, the simulated one is as
// good: VRAMSPAN_DRIVER=build/release/lib/simcuda/libcuda.so.1.
#include <benchmark/benchmark.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "runtime/observe/call_params.h"
#include "runtime/observe/decoder.h"
#include "runtime/observe/hidden_pointers.h"
#include "runtime/observe/working_sets.h"
#include "tools/simcuda/kernel_images.h"

SIMCUDA_DECLARE_KERNELS(decode_kernels);

namespace {

using vramspan::Bytes;
using vramspan::Decoder;
using vramspan::DevicePtr;
using vramspan::HiddenPointers;
using vramspan::Submission;

constexpr uint64_t kArena = uint64_t{1} << 46;

// The driver with the kernels loaded, and a decoder on it; for the life of the process.
struct Setup {
  std::unique_ptr<Decoder> decoder;
  CUfunction eight = nullptr, block = nullptr;
};

void Must(CUresult result, const char* what) {
  if (result == CUDA_SUCCESS) return;
  std::fprintf(stderr, "%s failed: %d\n", what, result);
  std::exit(1);
}

const Setup& TheSetup() {
  static const Setup setup = [] {
    auto driver = vramspan::Driver::Load();
    if (!driver.ok()) {
      std::fprintf(stderr, "%s\n", std::string(driver.status().message()).c_str());
      std::exit(1);
    }
    const vramspan::DriverApi& api = (*driver)->api();
    CUcontext context = nullptr;
    CUmodule module = nullptr;
    Setup made;
    Must(api.DevicePrimaryCtxRetain(&context, 0), "cuDevicePrimaryCtxRetain");
    Must(api.CtxSetCurrent(context), "cuCtxSetCurrent");
    Must(simcuda::LoadKernels(decode_kernels_images(), api.ModuleLoadData, &module),
         "cuModuleLoadData");
    Must(api.ModuleGetFunction(&made.eight, module, "eight"), "cuModuleGetFunction");
    Must(api.ModuleGetFunction(&made.block, module, "block"), "cuModuleGetFunction");
    made.decoder = std::make_unique<Decoder>(*driver);
    made.decoder->AddArena(DevicePtr(kArena), Bytes(uint64_t{1} << 40));
    return made;
  }();
  return setup;
}

void DecodeLaunch(benchmark::State& state, CUfunction kernel, void** parameters) {
  const Setup& setup = TheSetup();
  const cuLaunchKernel_params params = {kernel, 1, 1, 1, 128, 1, 1, 0, nullptr, parameters};
  Submission submission;
  if (state.thread_index() == 0) {  // The driver is asked here, in the context's own thread.
    setup.decoder->Decode(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, &params, &submission);
  }
  for (auto _ : state) {
    setup.decoder->Decode(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, &params, &submission);
    benchmark::DoNotOptimize(submission.touches.data());
  }
  state.counters["touches"] = benchmark::Counter(static_cast<double>(submission.touches.size()),
                                                 benchmark::Counter::kAvgThreads);
}

void LaunchOfEight(benchmark::State& state) {
  uint64_t values[8] = {kArena, kArena + 512, kArena + 1024, kArena + 1536, 5, kArena + 2048, 6, 7};
  void* parameters[8];
  for (size_t i = 0; i < 8; ++i) parameters[i] = &values[i];
  DecodeLaunch(state, TheSetup().eight, parameters);
}
BENCHMARK(LaunchOfEight)->ThreadRange(1, 16)->UseRealTime();

// A multi-tensor optimizer's: 4 KB of parameters, half of them pointers.
void LaunchOfABlock(benchmark::State& state) {
  uint64_t values[512];
  for (size_t i = 0; i < 512; ++i) values[i] = i % 2 == 0 ? kArena + 4096 * i : i;
  void* parameters[] = {values};
  DecodeLaunch(state, TheSetup().block, parameters);
}
BENCHMARK(LaunchOfABlock);

void CopyToHost(benchmark::State& state) {
  const Setup& setup = TheSetup();
  const cuMemcpyDtoHAsync_v2_params params = {&state, kArena, 4096, nullptr};
  Submission submission;
  for (auto _ : state) {
    setup.decoder->Decode(CUPTI_DRIVER_TRACE_CBID_cuMemcpyDtoHAsync_v2, &params, &submission);
    benchmark::DoNotOptimize(submission.touches.data());
  }
}
BENCHMARK(CopyToHost);

// A copy from the host of so many bytes, searched for pointers, of which there are none.
void SearchACopy(benchmark::State& state) {
  HiddenPointers hidden(DevicePtr(kArena), Bytes(uint64_t{1} << 40));
  const std::vector<uint64_t> words(static_cast<size_t>(state.range(0)) / 8, 7);
  for (auto _ : state) {
    hidden.Copied({words.data(), DevicePtr(kArena), Bytes(words.size() * 8)});
  }
}
BENCHMARK(SearchACopy)->Arg(8)->Arg(4096)->Arg(65536);

// What nine pointers among a hundred numbers are likely to touch, in a launch that is each time the
// same or has another number among them; asked with what it may touch at most or without.
void InferOfNine(benchmark::State& state) {
  vramspan::WorkingSets sets{Bytes(0)};
  std::vector<Submission> launches(static_cast<size_t>(state.range(0)));
  for (size_t l = 0; l < launches.size(); ++l) {
    Submission& s = launches[l];
    s.kind = Submission::Kind::kKernel;
    s.code = &sets;
    s.numbers = l;
    for (uint64_t w = 0; w < 100; ++w) s.words.push_back(w == 7 ? l : w);
    for (uint16_t t = 0; t < 9; ++t) {
      s.touches.push_back({.ptr = DevicePtr(kArena + (uint64_t{t} << 22)), .slot = t});
    }
  }
  const auto allocation = [](const vramspan::Touch&) {
    return vramspan::Extent{DevicePtr(kArena), vramspan::MiB(64)};
  };
  std::vector<vramspan::InferredRange> ranges;
  size_t next = 0;
  for (auto _ : state) {
    ranges.clear();
    sets.Infer(launches[next], state.range(1) != 0, allocation, &ranges);
    benchmark::DoNotOptimize(ranges.data());
    next = next + 1 == launches.size() ? 0 : next + 1;
  }
}
BENCHMARK(InferOfNine)
    ->ArgNames({"launches", "possible"})
    ->Args({1, 0})
    ->Args({1, 1})
    ->Args({512, 0})
    ->Args({512, 1});

}  // namespace
