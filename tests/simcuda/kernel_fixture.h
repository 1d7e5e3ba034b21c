#ifndef VRAMSPAN_TESTS_SIMCUDA_KERNEL_FIXTURE_H_
#define VRAMSPAN_TESTS_SIMCUDA_KERNEL_FIXTURE_H_

// A test on the simulated driver with the module of tests/kernels loaded.

#include <cuda.h>

#include <array>
#include <cstddef>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/kernels/test_kernels.h"
#include "tests/simcuda/sim_fixture.h"

namespace simcuda {

using Word = unsigned long long;

class KernelTest : public SimTest {
 protected:
  void SetUp() override {
    SimTest::SetUp();
    SIM_OK(LoadKernels(test_kernels_images(), cuModuleLoadData, &module_));
    SIM_OK(cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING));
  }

  CUfunction Function(const std::string& name) {
    CUfunction function = nullptr;
    EXPECT_EQ(cuModuleGetFunction(&function, module_, name.c_str()), CUDA_SUCCESS) << name;
    return function;
  }

  // A function that has been loaded, so that launching it never waits.
  CUfunction Loaded(const std::string& name) {
    const CUfunction function = Function(name);
    EXPECT_EQ(cuFuncLoad(function), CUDA_SUCCESS);
    return function;
  }

  CUstream NewStream() {
    CUstream stream = nullptr;
    EXPECT_EQ(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    return stream;
  }

  // Zeroed device memory; it goes with the context.
  CUdeviceptr Words(size_t count) {
    CUdeviceptr address = 0;
    EXPECT_EQ(cuMemAlloc(&address, count * sizeof(Word)), CUDA_SUCCESS);
    EXPECT_EQ(cuMemsetD8(address, 0, count * sizeof(Word)), CUDA_SUCCESS);
    EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
    return address;
  }

  std::vector<Word> Read(CUdeviceptr address, size_t count) {
    std::vector<Word> words(count);
    EXPECT_EQ(cuMemcpyDtoH(words.data(), address, count * sizeof(Word)), CUDA_SUCCESS);
    return words;
  }
  Word ReadOne(CUdeviceptr address) { return Read(address, 1)[0]; }

  // Launches with two blocks of 64 threads.
  template <typename... Args>
  static CUresult Launch(CUfunction function, CUstream stream, Args... args) {
    void* params[] = {static_cast<void*>(&args)..., nullptr};
    return cuLaunchKernel(function, 2, 1, 1, 64, 1, 1, 0, stream, params, nullptr);
  }

  CUmodule module_ = nullptr;
  CUstream stream_ = nullptr;
};

// The parameters of a kernel node with two blocks of 64 threads. Holds the arguments.
template <typename... Args>
class KernelNode {
 public:
  explicit KernelNode(CUfunction function, Args... args) : args_(args...) {
    Point(std::index_sequence_for<Args...>());
    params_.func = function;
    params_.gridDimX = 2;
    params_.gridDimY = params_.gridDimZ = params_.blockDimY = params_.blockDimZ = 1;
    params_.blockDimX = 64;
    params_.kernelParams = pointers_.data();
  }
  KernelNode(const KernelNode&) = delete;
  KernelNode& operator=(const KernelNode&) = delete;

  const CUDA_KERNEL_NODE_PARAMS* get() const { return &params_; }

 private:
  template <size_t... kIndex>
  void Point(std::index_sequence<kIndex...>) {
    ((pointers_[kIndex] = &std::get<kIndex>(args_)), ...);
  }

  std::tuple<Args...> args_;
  std::array<void*, sizeof...(Args) + 1> pointers_ = {};
  CUDA_KERNEL_NODE_PARAMS params_ = {};
};

}  // namespace simcuda

#endif  // VRAMSPAN_TESTS_SIMCUDA_KERNEL_FIXTURE_H_
