// Launches from before cuLaunchKernel, and launches on several devices at once.

#include <atomic>

#include "tests/simcuda/kernel_fixture.h"

namespace simcuda {
namespace {

// cuda.h marks all of these as deprecated, which is what they are.
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

class OldLaunchTest : public KernelTest {
 protected:
  // fill(out, count, value).
  void SetParams(CUfunction fill, CUdeviceptr out, size_t count, Word value) {
    SIM_OK(cuFuncSetBlockShape(fill, 32, 1, 1));
    SIM_OK(cuParamSetSize(fill, 24));
    SIM_OK(cuParamSetv(fill, 0, &out, sizeof(out)));
    SIM_OK(cuParamSetv(fill, 8, &count, sizeof(count)));
    SIM_OK(cuParamSetv(fill, 16, &value, sizeof(value)));
  }
};

TEST_F(OldLaunchTest, TakesWhatWasSet) {
  const CUdeviceptr out = Words(16);
  const CUfunction fill = Function("fill");
  SetParams(fill, out, 16, 7);
  SIM_OK(cuLaunch(fill));
  EXPECT_EQ(Read(out, 16), std::vector<Word>(16, 7));
  SIM_OK(cuParamSeti(fill, 16, 8));
  SIM_OK(cuLaunchGrid(fill, 2, 2));
  EXPECT_EQ(Read(out, 16), std::vector<Word>(16, 8)) << "the rest is kept";
  SIM_OK(cuParamSetf(fill, 16, 1.0f));
  SIM_OK(cuLaunchGridAsync(fill, 1, 1, stream_));
  SIM_OK(cuStreamSynchronize(stream_));
  EXPECT_EQ(ReadOne(out), Word{0x3f800000});
}

TEST_F(OldLaunchTest, IsWorkOfItsStream) {
  const CUdeviceptr out = Words(1);
  const CUfunction fill = Loaded("fill");
  SetParams(fill, out, 1, 5);
  Gate gate;
  gate.Park(stream_);
  SIM_OK(cuLaunchGridAsync(fill, 1, 1, stream_));
  SIM_OK(cuParamSeti(fill, 16, 6));
  EXPECT_EQ(cuStreamQuery(stream_), CUDA_ERROR_NOT_READY);
  gate.Open();
  SIM_OK(cuStreamSynchronize(stream_));
  EXPECT_EQ(ReadOne(out), Word{5});
  CUgraph graph = nullptr;
  SIM_OK(cuStreamBeginCapture(stream_, CU_STREAM_CAPTURE_MODE_RELAXED));
  SIM_OK(cuLaunchGridAsync(fill, 1, 1, stream_));
  SIM_OK(cuStreamEndCapture(stream_, &graph));
  size_t nodes = 0;
  SIM_OK(cuGraphGetNodes(graph, nullptr, &nodes));
  EXPECT_EQ(nodes, 1u);
  SIM_OK(cuGraphDestroy(graph));
}

TEST_F(OldLaunchTest, Refusals) {
  const CUfunction fill = Function("fill");
  EXPECT_EQ(cuLaunch(fill), CUDA_ERROR_INVALID_VALUE) << "no shape, no parameters";
  SetParams(fill, Words(1), 1, 5);
  SIM_OK(cuParamSetSize(fill, 16));
  EXPECT_EQ(cuLaunch(fill), CUDA_ERROR_INVALID_VALUE) << "less than the kernel takes";
  SIM_OK(cuParamSetSize(fill, 24));
  EXPECT_EQ(cuLaunchGrid(fill, 0, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuLaunchGrid(fill, 1, -1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuFuncSetBlockShape(fill, 1, 0, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuParamSetSize(fill, 1 << 20), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuParamSeti(fill, -4, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuParamSeti(fill, 4096, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuParamSetv(fill, 0, nullptr, 8), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuLaunch(reinterpret_cast<CUfunction>(64)), CUDA_ERROR_INVALID_HANDLE);
  SIM_OK(cuFuncSetSharedSize(fill, 1 << 30));
  EXPECT_EQ(cuLaunch(fill), CUDA_ERROR_INVALID_VALUE) << "more than a block may have";
}

// Two devices: a context, a module and a stream on each.
class DevicesTest : public KernelTest {
 protected:
  void SetUp() override {
    KernelTest::SetUp();
    contexts_[0] = context_;
    streams_[0] = stream_;
    functions_[0] = Loaded("fill");
    outs_[0] = Words(1);
    SIM_OK(cuCtxCreate(&contexts_[1], nullptr, 0, 1));
    SIM_OK(LoadKernels(test_kernels_images(), cuModuleLoadData, &module_));
    SIM_OK(cuStreamCreate(&streams_[1], CU_STREAM_NON_BLOCKING));
    functions_[1] = Loaded("fill");
    outs_[1] = Words(1);
    for (size_t i = 0; i < 2; ++i) {
      params_[i][0] = &outs_[i];
      params_[i][1] = &count_;
      params_[i][2] = &value_;
      list_[i] = {functions_[i], 1, 1, 1, 32, 1, 1, 0, streams_[i], params_[i]};
    }
  }
  void TearDown() override {
    SIM_OK(cuCtxDestroy(contexts_[1]));
    KernelTest::TearDown();
  }
  CUresult Launch(unsigned devices = 2, unsigned flags = 0) {
    return cuLaunchCooperativeKernelMultiDevice(list_, devices, flags);
  }
  template <typename Change>
  CUresult LaunchWith(Change change) {
    const CUDA_LAUNCH_PARAMS before = list_[1];
    change(list_[1]);
    const CUresult result = Launch();
    list_[1] = before;
    return result;
  }

  CUcontext contexts_[2] = {};
  CUstream streams_[2] = {};
  CUfunction functions_[2] = {};
  CUdeviceptr outs_[2] = {};
  size_t count_ = 1;
  Word value_ = 9;
  void* params_[2][3] = {};
  CUDA_LAUNCH_PARAMS list_[2] = {};
};

// While a kernel may be writing it, which ThreadSanitizer would tell.
__attribute__((no_sanitize("thread"))) Word Peek(CUdeviceptr word) {
  return *reinterpret_cast<volatile Word*>(word);
}

TEST_F(DevicesTest, OneKernelOnEach) {
  SIM_OK(Launch());
  for (size_t i = 0; i < 2; ++i) {
    SIM_OK(cuStreamSynchronize(streams_[i]));
    EXPECT_EQ(ReadOne(outs_[i]), Word{9});
  }
  SIM_OK(Launch(1));
}

TEST_F(DevicesTest, NoneBeginsBeforeAllCan) {
  Gate gate;
  gate.Park(streams_[0]);
  SIM_OK(Launch());
  LetWorkersRun();
  EXPECT_EQ(cuStreamQuery(streams_[1]), CUDA_ERROR_NOT_READY);
  gate.Open();
  SIM_OK(cuStreamSynchronize(streams_[1]));
  EXPECT_EQ(ReadOne(outs_[1]), Word{9});
}

TEST_F(DevicesTest, WhatComesAfterWaitsForAll) {
  Gate gate;
  gate.Park(streams_[0]);
  SIM_OK(Launch(2, CUDA_COOPERATIVE_LAUNCH_MULTI_DEVICE_NO_PRE_LAUNCH_SYNC));
  std::atomic<bool> ran{false};
  SIM_OK(LaunchFunction(streams_[1], [&] { ran = true; }));
  EXPECT_TRUE(Eventually([&] { return Peek(outs_[1]) == 9; }));
  LetWorkersRun();
  EXPECT_FALSE(ran);
  gate.Open();
  SIM_OK(cuStreamSynchronize(streams_[1]));
  EXPECT_TRUE(ran);
}

TEST_F(DevicesTest, OrDoesNotWhereThatIsAsked) {
  Gate gate;
  gate.Park(streams_[0]);
  SIM_OK(Launch(2, CUDA_COOPERATIVE_LAUNCH_MULTI_DEVICE_NO_PRE_LAUNCH_SYNC |
                       CUDA_COOPERATIVE_LAUNCH_MULTI_DEVICE_NO_POST_LAUNCH_SYNC));
  SIM_OK(cuStreamSynchronize(streams_[1]));
  EXPECT_EQ(cuStreamQuery(streams_[0]), CUDA_ERROR_NOT_READY);
}

TEST_F(DevicesTest, Refusals) {
  EXPECT_EQ(Launch(0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(Launch(2, 4), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(LaunchWith([](auto& p) { p.hStream = nullptr; }), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(LaunchWith([](auto& p) { p.gridDimX = 2; }), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(LaunchWith([&](auto& p) { p = list_[0]; }), CUDA_ERROR_INVALID_VALUE) << "one device";
  const CUfunction other = Function("add_constant");
  EXPECT_EQ(LaunchWith([&](auto& p) { p.function = other; }), CUDA_ERROR_INVALID_VALUE);
  SIM_OK(cuStreamBeginCapture(streams_[0], CU_STREAM_CAPTURE_MODE_RELAXED));
  EXPECT_EQ(Launch(), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  CUgraph graph = nullptr;
  SIM_OK(cuStreamEndCapture(streams_[0], &graph));
  SIM_OK(cuGraphDestroy(graph));
}

}  // namespace
}  // namespace simcuda
