// Eight layers on a device that has room for four: plain pointers, plain launches, right results.
//
//   quickstart [DEVICE_MEMORY]        default 64MiB; the layers are twice that
//
// Runs on the GPU, or with VRAMSPAN_DRIVER=build/release/lib/simcuda/libcuda.so.1 without one.
// Exits with 0 only if every element of every layer is what the CPU computes.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <span>
#include <string>
#include <vector>

#include "examples/driver.h"
#include "tools/simcuda/kernel_images.h"
#include "vramspan/vramspan.hpp"

SIMCUDA_DECLARE_KERNELS(quickstart_kernels);

namespace {

constexpr size_t kLayers = 8;
constexpr int kRounds = 3;

struct Kernels {
  explicit Kernels(const examples::Driver& driver) {
    CUmodule module = nullptr;  // Unloaded with the context.
    driver.Check(simcuda::LoadKernels(quickstart_kernels_images(), driver.ModuleLoadData, &module),
                 "cuModuleLoadData");
    driver.Check(driver.ModuleGetFunction(&fill, module, "fill"), "cuModuleGetFunction");
    driver.Check(driver.ModuleGetFunction(&mix, module, "mix"), "cuModuleGetFunction");
  }
  CUfunction fill = nullptr;
  CUfunction mix = nullptr;
};

using Layer = vramspan::Buffer<uint32_t>;

// What the kernels do, for one element of all layers.
void Expect(size_t index, uint32_t (&layers)[kLayers]) {
  for (size_t l = 0; l < kLayers; ++l) {
    layers[l] = static_cast<uint32_t>(index) * 2654435761u + static_cast<uint32_t>(l);
  }
  for (int round = 0; round < kRounds; ++round) {
    for (size_t l = 0; l < kLayers; ++l) {
      layers[l] = layers[l] * 3 + layers[(l + 1) % kLayers];
    }
  }
}

int Run(const std::string& device_memory) {
  const examples::Driver driver;
  const examples::Context context(driver);
  const CUstream stream = context.stream;
  const Kernels kernels(driver);

  const vramspan::Runtime runtime({.device_memory = device_memory, .quiet = true});
  const size_t budget = runtime.statistics().device_budget;
  size_t count = 2 * budget / kLayers / sizeof(uint32_t);

  std::vector<Layer> layers;
  for (size_t l = 0; l < kLayers; ++l) layers.push_back(runtime.alloc<uint32_t>(count));

  // Declaring what a launch touches lets the runtime bring just that to the device in time.
  for (size_t l = 0; l < kLayers; ++l) {
    runtime.submit(stream, {write(layers[l])}, [&] {
      uint32_t* data = layers[l].data();
      uint32_t seed = static_cast<uint32_t>(l);
      void* params[] = {&data, &count, &seed};
      driver.Check(
          driver.LaunchKernel(kernels.fill, 256, 1, 1, 256, 1, 1, 0, stream, params, nullptr),
          "cuLaunchKernel");
    });
  }
  for (int round = 0; round < kRounds; ++round) {
    for (size_t l = 0; l < kLayers; ++l) {
      const Layer& with = layers[(l + 1) % kLayers];
      runtime.submit(stream, {readwrite(layers[l]), read(with)}, [&] {
        uint32_t* data = layers[l].data();
        const uint32_t* other = with.data();
        void* params[] = {&data, &other, &count};
        driver.Check(
            driver.LaunchKernel(kernels.mix, 256, 1, 1, 256, 1, 1, 0, stream, params, nullptr),
            "cuLaunchKernel");
      });
    }
  }

  size_t wrong = 0;
  const size_t piece = std::min<size_t>(count, 1 << 20);
  std::vector<std::vector<uint32_t>> host(kLayers, std::vector<uint32_t>(piece));
  for (size_t first = 0; first < count; first += piece) {
    const size_t size = std::min(piece, count - first);
    for (size_t l = 0; l < kLayers; ++l) {
      runtime.download(stream, std::span(host[l]).first(size), layers[l], driver.MemcpyDtoHAsync,
                       first);
    }
    driver.Check(driver.StreamSynchronize(stream), "cuStreamSynchronize");
    for (size_t i = 0; i < size; ++i) {
      uint32_t expected[kLayers];
      Expect(first + i, expected);
      for (size_t l = 0; l < kLayers; ++l) wrong += host[l][i] != expected[l];
    }
  }
  runtime.synchronize();

  const vramspan::Statistics s = runtime.statistics();
  std::printf(
      "%s: %zu MiB on a device budget of %zu MiB, %llu MiB moved in, %llu MiB out, "
      "%zu wrong elements\n",
      wrong == 0 ? "right" : "WRONG", kLayers * count * sizeof(uint32_t) >> 20, budget >> 20,
      static_cast<unsigned long long>(s.bytes_in >> 20),
      static_cast<unsigned long long>(s.bytes_out >> 20), wrong);
  return wrong == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 2 || (argc == 2 && argv[1][0] == '-')) {
    std::fprintf(stderr, "usage: quickstart [DEVICE_MEMORY]   for example 64MiB\n");
    return 2;
  }
  try {
    return Run(argc == 2 ? argv[1] : "64MiB");
  } catch (const std::exception& error) {
    std::fprintf(stderr, "quickstart: %s\n", error.what());
    return 1;
  }
}
