// Graphs: what a launch of one does is what its nodes do, whatever happened to them since.

#include <algorithm>

#include "tests/observe/decoder_fixture.h"

namespace vramspan {
namespace {

using simcuda::KernelNode;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

class GraphTest : public DecoderTest {
 protected:
  void MakeArena() override {
    chunk_ = simcuda::MapChunk(simcuda::DeviceProp(), 32 << 20);
    arena_ = chunk_.address;
    arena_size_ = chunk_.size;
  }
  void SetUp() override {
    DecoderTest::SetUp();
    SIM_OK(cuGraphCreate(&graph_, 0));
    fill_ = Function("fill");
  }
  void TearDown() override {
    SIM_EXPECT_OK(cuGraphDestroy(graph_));
    simcuda::UnmapChunk(chunk_);
    DecoderTest::TearDown();
  }

  CUgraphNode AddFill(CUgraph graph, uint64_t offset) {
    const KernelNode params(fill_, At(offset), size_t{1}, Word{1});
    CUgraphNode node = nullptr;
    EXPECT_EQ(cuGraphAddKernelNode(&node, graph, nullptr, 0, params.get()), CUDA_SUCCESS);
    return node;
  }
  CUgraphNode AddCopy(CUgraph graph, const CUDA_MEMCPY3D& copy) {
    CUgraphNode node = nullptr;
    EXPECT_EQ(cuGraphAddMemcpyNode(&node, graph, nullptr, 0, &copy, context_), CUDA_SUCCESS);
    return node;
  }
  CUgraphNode AddSet(CUgraph graph, const CUDA_MEMSET_NODE_PARAMS& set) {
    CUgraphNode node = nullptr;
    EXPECT_EQ(cuGraphAddMemsetNode(&node, graph, nullptr, 0, &set, context_), CUDA_SUCCESS);
    return node;
  }
  // Between two addresses of the arena.
  CUDA_MEMCPY3D Copy(uint64_t target, uint64_t source, size_t bytes) const {
    CUDA_MEMCPY3D copy = {};
    copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    copy.srcDevice = At(source);
    copy.dstDevice = At(target);
    copy.WidthInBytes = bytes;
    copy.Height = copy.Depth = 1;
    return copy;
  }

  // A graph that the decoder was told of.
  CUgraphExec Instantiate(CUgraph graph) {
    CUgraphExec exec = nullptr;
    EXPECT_EQ(cuGraphInstantiate(&exec, graph, 0), CUDA_SUCCESS);
    Defined(CALL(cuGraphInstantiateWithFlags), cuGraphInstantiateWithFlags_params{&exec, graph, 0});
    return exec;
  }
  Submission Launched(CUgraphExec exec) {
    return Decode(CALL(cuGraphLaunch), cuGraphLaunch_params{exec, stream_});
  }

  simcuda::Chunk chunk_;
  CUgraph graph_ = nullptr;
  CUfunction fill_ = nullptr;
};

TEST_F(GraphTest, OfEveryKindOfNode) {
  char host[64];
  AddFill(graph_, 8);
  AddCopy(graph_, Copy(4096, 8192, 100));
  CUDA_MEMCPY3D from_host = Copy(1 << 20, 0, sizeof(host));
  from_host.srcMemoryType = CU_MEMORYTYPE_HOST;
  from_host.srcHost = host;
  AddCopy(graph_, from_host);
  AddSet(graph_, {At(1 << 21), 512, 0, 4, 10, 3});
  CUstreamBatchMemOpParams ops[2] = {};
  ops[0].waitValue.operation = CU_STREAM_MEM_OP_WAIT_VALUE_32;
  ops[0].waitValue.address = At(16);
  ops[1].writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_64;
  ops[1].writeValue.address = At(24);
  const CUDA_BATCH_MEM_OP_NODE_PARAMS batch = {context_, 2, ops, 0};
  CUgraphNode node = nullptr;
  SIM_OK(cuGraphAddBatchMemOpNode(&node, graph_, nullptr, 0, &batch));
  SIM_OK(cuGraphAddEmptyNode(&node, graph_, nullptr, 0));
  const CUDA_HOST_NODE_PARAMS call = {[](void*) {}, nullptr};
  SIM_OK(cuGraphAddHostNode(&node, graph_, nullptr, 0, &call));

  const CUgraphExec exec = Instantiate(graph_);
  const Submission s = Launched(exec);
  EXPECT_EQ(s.kind, Kind::kGraph);
  EXPECT_EQ(s.code, exec);
  EXPECT_EQ(s.stream, stream_);
  EXPECT_FALSE(s.incomplete);
  EXPECT_THAT(s.touches, UnorderedElementsAre(Slot(8, 0), Writes(4096, 100), Reads(8192, 100),
                                              Writes(1 << 20, 64),
                                              Writes(1 << 21, 2 * 512 + 40, /*linear=*/false),
                                              Reads(16, 4), Writes(24, 8)));
  ASSERT_THAT(s.host_copies, SizeIs(1));
  EXPECT_EQ(s.host_copies[0].source, host);
  EXPECT_EQ(Decode(CALL(cuGraphLaunch_ptsz), cuGraphLaunch_params{exec, nullptr}).stream,
            CU_STREAM_PER_THREAD);
}

TEST_F(GraphTest, EachPlaceOnce) {
  for (int i = 0; i < 10; ++i) AddFill(graph_, 8);
  AddCopy(graph_, Copy(512, 1024, 16));
  AddCopy(graph_, Copy(1024, 512, 16));
  EXPECT_THAT(Launched(Instantiate(graph_)).touches,
              ElementsAre(Slot(8, 0), Writes(512, 16), Writes(1024, 16)));
}

TEST_F(GraphTest, Captured) {
  uint64_t words = At(40), count = 1, value = 2;
  void* parameters[] = {&words, &count, &value};
  SIM_OK(cuStreamBeginCapture(stream_, CU_STREAM_CAPTURE_MODE_GLOBAL));
  SIM_OK(cuLaunchKernel(fill_, 1, 1, 1, 1, 1, 1, 0, stream_, parameters, nullptr));
  SIM_OK(cuMemsetD32Async(At(4096), 0, 8, stream_));
  SIM_OK(cuMemcpyDtoDAsync(At(8192), At(4096), 32, stream_));
  // Another graph is read while a capture runs.
  AddFill(graph_, 8);
  EXPECT_THAT(Launched(Instantiate(graph_)).touches, ElementsAre(Slot(8, 0)));
  CUgraph captured = nullptr;
  SIM_OK(cuStreamEndCapture(stream_, &captured));
  EXPECT_THAT(Launched(Instantiate(captured)).touches,
              UnorderedElementsAre(Slot(40, 0), Writes(4096, 32), Writes(8192, 32)));
  SIM_OK(cuGraphDestroy(captured));
}

TEST_F(GraphTest, CodeThatWasReadSinceIsTrusted) {
  CUgraph child = nullptr;
  SIM_OK(cuGraphCreate(&child, 0));
  AddFill(child, 8);
  CUgraphNode node = nullptr;
  SIM_OK(cuGraphAddChildGraphNode(&node, graph_, nullptr, 0, child));
  AddFill(graph_, 16);
  AddCopy(graph_, Copy(512, 1024, 16));
  const CUgraphExec exec = Instantiate(graph_);
  Submission s = Launched(exec);
  EXPECT_EQ(s.trust, Trust::kUntried);
  ASSERT_THAT(s.unproven, SizeIs(1)) << "each code once";
  const KernelCode& code = *s.unproven[0];
  EXPECT_EQ(code.name, "fill");
  code.reading = KernelCode::Reading::kUnproven;
  EXPECT_EQ(Launched(exec).trust, Trust::kUntried);
  code.reading = KernelCode::Reading::kProven;
  s = Launched(exec);
  EXPECT_EQ(s.trust, Trust::kProven);
  EXPECT_THAT(s.unproven, IsEmpty());
  SIM_OK(cuGraphDestroy(child));
}

TEST_F(GraphTest, ChildrenAreRead) {
  CUgraph child = nullptr, grandchild = nullptr;
  SIM_OK(cuGraphCreate(&child, 0));
  SIM_OK(cuGraphCreate(&grandchild, 0));
  AddFill(grandchild, 24);
  AddFill(child, 16);
  CUgraphNode node = nullptr, child_node = nullptr;
  SIM_OK(cuGraphAddChildGraphNode(&node, child, nullptr, 0, grandchild));
  SIM_OK(cuGraphAddChildGraphNode(&child_node, graph_, nullptr, 0, child));
  AddFill(graph_, 8);
  const CUgraphExec exec = Instantiate(graph_);
  EXPECT_THAT(Launched(exec).touches, ElementsAre(Slot(8, 0), Slot(16, 0), Slot(24, 0)));

  // Another child of the same shape in its place.
  CUgraph other = nullptr;
  SIM_OK(cuGraphCreate(&other, 0));
  AddFill(other, 32);
  Defined(CALL(cuGraphExecChildGraphNodeSetParams),
          cuGraphExecChildGraphNodeSetParams_params{exec, child_node, other});
  EXPECT_THAT(Launched(exec).touches, ElementsAre(Slot(8, 0), Slot(32, 0)));
  for (CUgraph graph : {child, grandchild, other}) SIM_OK(cuGraphDestroy(graph));
}

TEST_F(GraphTest, EveryWayToInstantiate) {
  AddFill(graph_, 8);
  CUgraphExec exec = nullptr;
  SIM_OK(cuGraphInstantiate(&exec, graph_, 0));
  const auto is_known = [&] {
    EXPECT_THAT(Launched(exec).touches, ElementsAre(Slot(8, 0)));
    Defining(CALL(cuGraphExecDestroy), cuGraphExecDestroy_params{exec});
    EXPECT_EQ(Launched(exec).kind, Kind::kUnknown);
  };
  Defined(CALL(cuGraphInstantiate), cuGraphInstantiate_params{&exec, graph_, nullptr, nullptr, 0});
  is_known();
  Defined(CALL(cuGraphInstantiate_v2),
          cuGraphInstantiate_v2_params{&exec, graph_, nullptr, nullptr, 0});
  is_known();
  CUDA_GRAPH_INSTANTIATE_PARAMS params = {};
  Defined(CALL(cuGraphInstantiateWithParams),
          cuGraphInstantiateWithParams_params{&exec, graph_, &params});
  is_known();
  Defined(CALL(cuGraphInstantiateWithParams_ptsz),
          cuGraphInstantiateWithParams_params{&exec, graph_, &params});
  is_known();

  // One that failed made nothing; its result may say anything.
  exec = nullptr;
  Defined(CALL(cuGraphInstantiateWithFlags), cuGraphInstantiateWithFlags_params{&exec, graph_, 0},
          CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(Launched(exec).kind, Kind::kUnknown);
}

TEST_F(GraphTest, AnUpdateReplacesWhatWasKnown) {
  AddFill(graph_, 8);
  const CUgraphExec exec = Instantiate(graph_);
  CUgraph other = nullptr;
  SIM_OK(cuGraphCreate(&other, 0));
  AddFill(other, 16);
  Defined(CALL(cuGraphExecUpdate_v2), cuGraphExecUpdate_v2_params{exec, other, nullptr},
          CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
  EXPECT_THAT(Launched(exec).touches, ElementsAre(Slot(8, 0)));
  Defined(CALL(cuGraphExecUpdate_v2), cuGraphExecUpdate_v2_params{exec, other, nullptr});
  EXPECT_THAT(Launched(exec).touches, ElementsAre(Slot(16, 0)));
  Defined(CALL(cuGraphExecUpdate), cuGraphExecUpdate_params{exec, graph_, nullptr, nullptr});
  EXPECT_THAT(Launched(exec).touches, ElementsAre(Slot(8, 0)));
  SIM_OK(cuGraphDestroy(other));
}

TEST_F(GraphTest, NodesOfAnExecutableGraphAreSet) {
  const CUgraphNode fill = AddFill(graph_, 8);
  const CUgraphNode copy = AddCopy(graph_, Copy(512, 1024, 16));
  const CUgraphNode set = AddSet(graph_, {At(4096), 0, 0, 1, 10, 1});
  const CUgraphExec exec = Instantiate(graph_);
  for (uint64_t i = 1; i < 50; ++i) {
    const KernelNode kernel(fill_, At(8 + 8 * i), size_t{1}, Word{1});
    Defined(CALL(cuGraphExecKernelNodeSetParams_v2),
            cuGraphExecKernelNodeSetParams_v2_params{exec, fill, kernel.get()});
  }
  const CUDA_MEMCPY3D other_copy = Copy(512, 2048, 16);
  Defined(CALL(cuGraphExecMemcpyNodeSetParams),
          cuGraphExecMemcpyNodeSetParams_params{exec, copy, &other_copy, context_});
  const CUDA_MEMSET_NODE_PARAMS other_set = {At(8192), 0, 0, 1, 20, 1};
  Defined(CALL(cuGraphExecMemsetNodeSetParams),
          cuGraphExecMemsetNodeSetParams_params{exec, set, &other_set, context_});
  EXPECT_THAT(Launched(exec).touches,
              ElementsAre(Slot(400, 0), Writes(512, 16), Reads(2048, 16), Writes(8192, 20)));

  CUgraphNodeParams any = {};
  any.type = CU_GRAPH_NODE_TYPE_MEMSET;
  any.memset = {At(16384), 0, 0, 4, 1, 1, context_};
  Defined(CALL(cuGraphExecNodeSetParams), cuGraphExecNodeSetParams_params{exec, set, &any});
  EXPECT_THAT(Launched(exec).touches,
              ElementsAre(Slot(400, 0), Writes(512, 16), Reads(2048, 16), Writes(16384, 4)));
  const KernelNode kernel(fill_, At(0), size_t{1}, Word{1});
  CUDA_KERNEL_NODE_PARAMS_v1 narrow = {};
  narrow.func = fill_;
  narrow.kernelParams = kernel.get()->kernelParams;
  Defined(CALL(cuGraphExecKernelNodeSetParams),
          cuGraphExecKernelNodeSetParams_params{exec, fill, &narrow});
  EXPECT_THAT(Launched(exec).touches, SizeIs(4));
  EXPECT_EQ(Launched(exec).touches[0], Slot(0, 0));
}

TEST_F(GraphTest, WhatCannotBeReadMakesItIncomplete) {
  AddFill(graph_, 8);
  AddSet(graph_, {At(4096), 0, 0, 1, 10, 1});
  ASSERT_EQ(simcudaFail("cuGraphMemsetNodeGetParams", 1, 1, CUDA_ERROR_UNKNOWN), 0);
  const Submission partly = Launched(Instantiate(graph_));
  EXPECT_EQ(partly.kind, Kind::kGraph);
  EXPECT_TRUE(partly.incomplete);
  EXPECT_THAT(partly.touches, ElementsAre(Slot(8, 0)));
  ASSERT_EQ(simcudaFail("cuGraphGetNodes", 1, 1, CUDA_ERROR_UNKNOWN), 0);
  EXPECT_TRUE(Launched(Instantiate(graph_)).incomplete);

  const CUgraphExec exec = Instantiate(graph_);
  EXPECT_FALSE(Launched(exec).incomplete);
  CUgraphNodeParams any = {};
  any.type = CU_GRAPH_NODE_TYPE_CONDITIONAL;
  Defined(CALL(cuGraphExecNodeSetParams), cuGraphExecNodeSetParams_params{exec, nullptr, &any});
  EXPECT_TRUE(Launched(exec).incomplete);
}

// What a kernel on the GPU sets in such a node nobody sees.
TEST_F(GraphTest, ANodeThatTheGpuMayUpdateMakesItIncomplete) {
  CUgraph child = nullptr;
  SIM_OK(cuGraphCreate(&child, 0));
  const CUgraphNode node = AddFill(graph_, 8), inner = AddFill(child, 16);
  EXPECT_FALSE(Launched(Instantiate(graph_)).incomplete);
  CUkernelNodeAttrValue updatable{};
  updatable.deviceUpdatableKernelNode.deviceUpdatable = 1;
  for (const CUgraphNode each : {node, inner}) {
    SIM_OK(cuGraphKernelNodeSetAttribute(each, CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE,
                                         &updatable));
  }
  const CUgraphExec exec = Instantiate(graph_);
  EXPECT_TRUE(Launched(exec).incomplete);
  EXPECT_THAT(Launched(exec).touches, ElementsAre(Slot(8, 0)));
  // It stays one, whatever the program sets in it.
  const KernelNode kernel(fill_, At(24), size_t{1}, Word{1});
  Defined(CALL(cuGraphExecKernelNodeSetParams_v2),
          cuGraphExecKernelNodeSetParams_v2_params{exec, node, kernel.get()});
  EXPECT_TRUE(Launched(exec).incomplete);
  EXPECT_THAT(Launched(exec).touches, ElementsAre(Slot(24, 0)));

  CUgraph parent = nullptr;
  SIM_OK(cuGraphCreate(&parent, 0));
  CUgraphNode nested = nullptr;
  SIM_OK(cuGraphAddChildGraphNode(&nested, parent, nullptr, 0, child));
  EXPECT_TRUE(Launched(Instantiate(parent)).incomplete);

  // A driver that is older than the attribute: it has no such nodes.
  ASSERT_EQ(simcudaFail("cuGraphKernelNodeGetAttribute", 1, 1, CUDA_ERROR_INVALID_VALUE), 0);
  EXPECT_FALSE(Launched(Instantiate(graph_)).incomplete);
  for (const CUgraph graph : {child, parent}) SIM_OK(cuGraphDestroy(graph));
}

TEST_F(GraphTest, OneThatWasNeverSeenIsUnknown) {
  const Submission s = Launched(reinterpret_cast<CUgraphExec>(uintptr_t{64}));
  EXPECT_EQ(s.kind, Kind::kUnknown);
  EXPECT_TRUE(s.incomplete);
  EXPECT_EQ(s.stream, stream_);
}

TEST_F(GraphTest, OneThatTheGpuMayLaunchMakesAllLaunchesIncomplete) {
  AddFill(graph_, 8);
  CUgraphExec exec = Instantiate(graph_), other = Instantiate(graph_);
  uint64_t words = At(40), count = 1, value = 2;
  void* parameters[] = {&words, &count, &value};
  const auto launch = Launch(fill_, parameters);
  EXPECT_FALSE(Decode(CALL(cuLaunchKernel), launch).incomplete);
  Defined(
      CALL(cuGraphInstantiateWithFlags),
      cuGraphInstantiateWithFlags_params{&exec, graph_, CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH});
  EXPECT_TRUE(Decode(CALL(cuLaunchKernel), launch).incomplete);
  EXPECT_TRUE(Launched(other).incomplete);
  Defining(CALL(cuGraphExecDestroy), cuGraphExecDestroy_params{exec});
  EXPECT_FALSE(Decode(CALL(cuLaunchKernel), launch).incomplete);
  EXPECT_FALSE(Launched(other).incomplete);
}

}  // namespace
}  // namespace vramspan
