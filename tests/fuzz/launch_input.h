// What fuzz_launch.cc makes its calls of: the bytes of the input, and kernels of the simulated
// driver.
#ifndef VRAMSPAN_TESTS_FUZZ_LAUNCH_INPUT_H_
#define VRAMSPAN_TESTS_FUZZ_LAUNCH_INPUT_H_

#include <cuda.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>
#include <vector>

#include "runtime/base/log.h"
#include "runtime/driver/driver.h"
#include "tests/kernels/test_kernels.h"
#include "tests/observe/observe_kernels.h"

inline constexpr uint64_t kArena = uint64_t{1} << 46;
inline constexpr uint64_t kArenaSize = uint64_t{1} << 40;

// What is short is zero.
class Input {
 public:
  Input(const uint8_t* data, size_t size) : rest_(reinterpret_cast<const char*>(data), size) {}
  bool empty() const { return rest_.empty(); }

  template <typename T>
  T Take() {
    T value{};
    const size_t n = std::min(sizeof(T), rest_.size());
    std::memcpy(static_cast<void*>(&value), rest_.data(), n);
    rest_.remove_prefix(n);
    return value;
  }
  uint8_t Pick(uint8_t n) { return static_cast<uint8_t>(Take<uint8_t>() % n); }

  CUfunction Kernel();
  uint64_t Word();
  // As many parameters as the kernel has, of its sizes.
  std::vector<std::vector<uint64_t>> Parameters(CUfunction kernel);

 private:
  std::string_view rest_;
};

struct World {
  CUcontext context = nullptr;
  std::vector<CUfunction> kernels;
  std::shared_ptr<const vramspan::Driver> driver;
};

inline const World& TheWorld() {
  static const World* const world = [] {
    auto* w = new World;
    const auto ok = [](CUresult r) { VS_CHECK(r == CUDA_SUCCESS); };
    ok(cuInit(0));
    ok(cuDevicePrimaryCtxRetain(&w->context, 0));
    ok(cuCtxSetCurrent(w->context));
    CUmodule module = nullptr;
    for (const simcuda::KernelImages& images : {test_kernels_images(), observe_kernels_images()}) {
      ok(simcuda::LoadKernels(images, cuModuleLoadData, &module));
      unsigned count = 0;
      ok(cuModuleGetFunctionCount(&count, module));
      std::vector<CUfunction> functions(count);
      ok(cuModuleEnumerateFunctions(functions.data(), count, module));
      w->kernels.insert(w->kernels.end(), functions.begin(), functions.end());
    }
    auto driver = vramspan::Driver::Load();
    VS_CHECK(driver.ok());
    w->driver = *driver;
    return w;
  }();
  return *world;
}

inline CUfunction Input::Kernel() {
  const auto& kernels = TheWorld().kernels;
  return kernels[Take<uint8_t>() % kernels.size()];
}
inline uint64_t Input::Word() {
  // Now and then an address.
  const auto word = Take<uint64_t>();
  return word % 2 == 0 ? word : kArena + word % kArenaSize;
}

inline std::vector<std::vector<uint64_t>> Input::Parameters(CUfunction kernel) {
  std::vector<std::vector<uint64_t>> all;
  size_t offset = 0, size = 0;
  for (size_t i = 0; cuFuncGetParamInfo(kernel, i, &offset, &size) == CUDA_SUCCESS; ++i) {
    auto& words = all.emplace_back((size + 7) / 8);
    for (size_t w = 0; w < std::min<size_t>(words.size(), 8); ++w) words[w] = Word();
  }
  return all;
}

#endif  // VRAMSPAN_TESTS_FUZZ_LAUNCH_INPUT_H_
