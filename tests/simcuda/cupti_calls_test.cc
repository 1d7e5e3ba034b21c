// Which driver calls have callbacks, and under which id.

#include <algorithm>

#include "tests/simcuda/cupti_fixture.h"

namespace simcuda {
namespace {

class CuptiCallsTest : public CuptiTest {
 protected:
  void SetUp() override {
    CuptiTest::SetUp();
    words_ = Words(64);
    nothing_ = Loaded("nothing");
    CUPTI_OK(Cupti::Get().enable_domain(1, subscriber_, CUPTI_CB_DOMAIN_DRIVER_API));
  }

  // That `call` succeeds and is delivered at its entry and its exit, as `name` and nothing else.
  template <typename Call>
  void Expect(const std::string& name, CUpti_CallbackId id, Call call) {
    events_.clear();
    SIM_EXPECT_OK(call()) << name;
    ASSERT_EQ(events_.size(), 2u) << name;
    for (const Delivered& event : events_) {
      EXPECT_EQ(event.name, name);
      EXPECT_EQ(event.id, id) << name;
      const char* known = nullptr;
      CUPTI_EXPECT_OK(Cupti::Get().get_callback_name(CUPTI_CB_DOMAIN_DRIVER_API, id, &known));
      EXPECT_EQ(name, known);
    }
    EXPECT_EQ(events_[1].result, CUDA_SUCCESS);
  }

  template <typename Function>
  static void Resolve(const char* name, cuuint64_t flags, Function* function) {
    void* found = nullptr;
    SIM_EXPECT_OK(cuGetProcAddress(name, &found, 13000, flags, nullptr));
    ASSERT_NE(found, nullptr) << name;
    *function = reinterpret_cast<Function>(found);
  }

  CUdeviceptr words_ = 0;
  CUfunction nothing_ = nullptr;
};

#define EXPECT_DELIVERED(symbol, ...) \
  Expect(#symbol, CUPTI_DRIVER_TRACE_CBID_##symbol, [&] { return __VA_ARGS__; })

TEST_F(CuptiCallsTest, Launches) {
  EXPECT_DELIVERED(cuLaunchKernel, Launch(nothing_, stream_));
  CUlaunchConfig config = {};
  config.gridDimX = config.gridDimY = config.gridDimZ = 1;
  config.blockDimX = config.blockDimY = config.blockDimZ = 1;
  config.hStream = stream_;
  EXPECT_DELIVERED(cuLaunchKernelEx, cuLaunchKernelEx(&config, nothing_, nullptr, nullptr));
  EXPECT_EQ(events_[0].kernel, "nothing");
  EXPECT_DELIVERED(cuLaunchCooperativeKernel,
                   cuLaunchCooperativeKernel(nothing_, 1, 1, 1, 1, 1, 1, 0, stream_, nullptr));
  EXPECT_EQ(events_[0].kernel, "nothing");
  EXPECT_DELIVERED(cuLaunchHostFunc, cuLaunchHostFunc(
                                         stream_, [](void*) {}, nullptr));
  EXPECT_EQ(events_[0].kernel, "");
}

TEST_F(CuptiCallsTest, CopiesAndFills) {
  // In step with the synchronous copies of the same words.
  CUstream stream = nullptr;
  SIM_OK(cuStreamCreate(&stream, CU_STREAM_DEFAULT));
  Word host[8] = {};
  const CUdeviceptr to = words_ + 64;
  EXPECT_DELIVERED(cuMemcpy, cuMemcpy(to, words_, 8));
  EXPECT_DELIVERED(cuMemcpyHtoD_v2, cuMemcpyHtoD(words_, host, 8));
  EXPECT_DELIVERED(cuMemcpyDtoH_v2, cuMemcpyDtoH(host, words_, 8));
  EXPECT_DELIVERED(cuMemcpyDtoD_v2, cuMemcpyDtoD(to, words_, 8));
  EXPECT_DELIVERED(cuMemcpyAsync, cuMemcpyAsync(to, words_, 8, stream));
  EXPECT_DELIVERED(cuMemcpyHtoDAsync_v2, cuMemcpyHtoDAsync(words_, host, 8, stream));
  EXPECT_DELIVERED(cuMemcpyDtoHAsync_v2, cuMemcpyDtoHAsync(host, words_, 8, stream));
  EXPECT_DELIVERED(cuMemcpyDtoDAsync_v2, cuMemcpyDtoDAsync(to, words_, 8, stream));
  EXPECT_DELIVERED(cuMemcpyPeerAsync, cuMemcpyPeerAsync(to, context_, words_, context_, 8, stream));
  CUDA_MEMCPY2D plane = {};
  plane.srcMemoryType = plane.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  plane.srcDevice = words_;
  plane.dstDevice = to;
  plane.WidthInBytes = plane.srcPitch = plane.dstPitch = 8;
  plane.Height = 2;
  EXPECT_DELIVERED(cuMemcpy2D_v2, cuMemcpy2D(&plane));
  EXPECT_DELIVERED(cuMemcpy2DAsync_v2, cuMemcpy2DAsync(&plane, stream));
  CUDA_MEMCPY3D space = {};
  space.srcMemoryType = space.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  space.srcDevice = words_;
  space.dstDevice = to;
  space.WidthInBytes = space.Height = space.Depth = 1;
  EXPECT_DELIVERED(cuMemcpy3D_v2, cuMemcpy3D(&space));
  EXPECT_DELIVERED(cuMemcpy3DAsync_v2, cuMemcpy3DAsync(&space, stream));
  EXPECT_DELIVERED(cuMemsetD8_v2, cuMemsetD8(words_, 0, 8));
  EXPECT_DELIVERED(cuMemsetD32Async, cuMemsetD32Async(words_, 0, 2, stream));
  EXPECT_DELIVERED(cuMemsetD2D16Async, cuMemsetD2D16Async(words_, 16, 0, 2, 2, stream));
  SIM_OK(cuStreamSynchronize(stream));
}

TEST_F(CuptiCallsTest, WordsInMemory) {
  EXPECT_DELIVERED(cuStreamWriteValue32_v2, cuStreamWriteValue32(stream_, words_, 1, 0));
  EXPECT_DELIVERED(cuStreamWaitValue64_v2, cuStreamWaitValue64(stream_, words_, 1, 0));
  CUstreamBatchMemOpParams op = {};
  op.writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
  op.writeValue.address = words_;
  EXPECT_DELIVERED(cuStreamBatchMemOp_v2, cuStreamBatchMemOp(stream_, 1, &op, 0));
}

TEST_F(CuptiCallsTest, StreamsContextsModulesMemory) {
  CUstream stream = nullptr;
  EXPECT_DELIVERED(cuStreamCreate, cuStreamCreate(&stream, 0));
  EXPECT_DELIVERED(cuStreamDestroy_v2, cuStreamDestroy(stream));
  CUcontext context = nullptr;
  EXPECT_DELIVERED(cuCtxCreate_v4, cuCtxCreate(&context, nullptr, 0, 0));
  EXPECT_EQ(events_[0].context, context_);
  EXPECT_EQ(events_[1].context, context);
  EXPECT_DELIVERED(cuCtxDestroy_v2, cuCtxDestroy(context));
  CUfunction function = nullptr;
  EXPECT_DELIVERED(cuModuleGetFunction, cuModuleGetFunction(&function, module_, "fill"));
  EXPECT_DELIVERED(cuModuleUnload, cuModuleUnload(module_));
  CUdeviceptr memory = 0;
  EXPECT_DELIVERED(cuMemAlloc_v2, cuMemAlloc(&memory, 64));
  EXPECT_DELIVERED(cuMemFree_v2, cuMemFree(memory));
  EXPECT_DELIVERED(cuMemAllocAsync, cuMemAllocAsync(&memory, 64, stream_));
  EXPECT_DELIVERED(cuMemFreeAsync, cuMemFreeAsync(memory, stream_));
  EXPECT_DELIVERED(cuStreamSynchronize, cuStreamSynchronize(stream_));
}

TEST_F(CuptiCallsTest, Graphs) {
  CUgraph graph = nullptr;
  CUgraphExec exec = nullptr;
  EXPECT_DELIVERED(cuStreamBeginCapture_v2,
                   cuStreamBeginCapture(stream_, CU_STREAM_CAPTURE_MODE_RELAXED));
  EXPECT_DELIVERED(cuLaunchKernel, Launch(nothing_, stream_));
  EXPECT_DELIVERED(cuStreamEndCapture, cuStreamEndCapture(stream_, &graph));
  EXPECT_DELIVERED(cuGraphInstantiateWithFlags, cuGraphInstantiateWithFlags(&exec, graph, 0));
  EXPECT_DELIVERED(cuGraphLaunch, cuGraphLaunch(exec, stream_));
  CUgraphExecUpdateResultInfo info = {};
  EXPECT_DELIVERED(cuGraphExecUpdate_v2, cuGraphExecUpdate(exec, graph, &info));
  EXPECT_DELIVERED(cuGraphExecDestroy, cuGraphExecDestroy(exec));
  EXPECT_DELIVERED(cuGraphDestroy, cuGraphDestroy(graph));
}

TEST_F(CuptiCallsTest, PerThreadVariantsHaveIdsOfTheirOwn) {
  const auto launch =
      reinterpret_cast<decltype(&cuLaunchKernel)>(DriverSymbol("cuLaunchKernel_ptsz"));
  handler_ = [&](const Delivered&, const CUpti_CallbackData& data) {
    const auto& params = *static_cast<const cuLaunchKernel_ptsz_params*>(data.functionParams);
    EXPECT_EQ(params.f, nothing_);
    EXPECT_EQ(params.hStream, nullptr);
  };
  EXPECT_DELIVERED(cuLaunchKernel_ptsz,
                   launch(nothing_, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr));
  handler_ = nullptr;
  const auto fill = reinterpret_cast<decltype(&cuMemsetD8)>(DriverSymbol("cuMemsetD8_v2_ptds"));
  EXPECT_DELIVERED(cuMemsetD8_v2_ptds, fill(words_, 0, 8));
}

TEST_F(CuptiCallsTest, WhatTheResolverGivesIsTracedAsTheSymbolThatItIs) {
  decltype(&cuMemcpyHtoDAsync) copy = nullptr;
  Resolve("cuMemcpyHtoDAsync", 0, &copy);
  EXPECT_DELIVERED(cuMemcpyHtoDAsync_v2, copy(words_, &words_, 8, stream_));
  Resolve("cuMemcpyHtoDAsync", CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, &copy);
  EXPECT_DELIVERED(cuMemcpyHtoDAsync_v2_ptsz, copy(words_, &words_, 8, stream_));

  // The resolver's cuGraphInstantiate is WithFlags.
  CUgraph graph = nullptr;
  CUgraphExec exec = nullptr;
  SIM_OK(cuGraphCreate(&graph, 0));
  decltype(&cuGraphInstantiateWithFlags) instantiate = nullptr;
  Resolve("cuGraphInstantiate", 0, &instantiate);
  handler_ = [&](const Delivered&, const CUpti_CallbackData& data) {
    const auto& params =
        *static_cast<const cuGraphInstantiateWithFlags_params*>(data.functionParams);
    EXPECT_EQ(params.phGraphExec, &exec);
    EXPECT_EQ(params.hGraph, graph);
    EXPECT_EQ(params.flags, 0u);
  };
  EXPECT_DELIVERED(cuGraphInstantiateWithFlags, instantiate(&exec, graph, 0));
  handler_ = nullptr;
  SIM_OK(cuGraphExecDestroy(exec));
  SIM_OK(cuGraphDestroy(graph));
}

// Every entry point has an id, which bears its name.
TEST_F(CuptiCallsTest, EveryEntryPointHasAName) {
  std::vector<std::string> known;
  for (uint32_t id = 1; id < CUPTI_DRIVER_TRACE_CBID_SIZE; ++id) {
    const char* name = nullptr;
    CUPTI_EXPECT_OK(Cupti::Get().get_callback_name(CUPTI_CB_DOMAIN_DRIVER_API, id, &name));
    known.push_back(name);
  }
  for (unsigned index = 0; simcudaEntrySymbol(index) != nullptr; ++index) {
    EXPECT_NE(std::find(known.begin(), known.end(), simcudaEntrySymbol(index)), known.end())
        << simcudaEntrySymbol(index);
  }
}

}  // namespace
}  // namespace simcuda
