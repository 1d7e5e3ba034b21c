// Changing executable graphs: node by node, and from another graph of the same shape.

#include <vector>

#include "tests/simcuda/kernel_fixture.h"

namespace simcuda {
namespace {

constexpr size_t kUpdateCount = 16;
constexpr size_t kUpdateBytes = kUpdateCount * sizeof(Word);

class GraphUpdateTest : public KernelTest {
 protected:
  void SetUp() override {
    KernelTest::SetUp();
    words_ = Words(kUpdateCount);
    other_words_ = Words(kUpdateCount);
    add_ = Loaded("add_constant");
    graph_ = Capture(words_, 1);
    SIM_OK(cuGraphInstantiate(&exec_, graph_, 0));
    size_t count = 3;
    SIM_OK(cuGraphGetNodes(graph_, nodes_, &count));
    ASSERT_EQ(count, 3u);
  }
  void TearDown() override {
    SIM_EXPECT_OK(cuGraphExecDestroy(exec_));
    SIM_EXPECT_OK(cuGraphDestroy(graph_));
    KernelTest::TearDown();
  }

  // Sets the words to zero, adds to them, and copies them to host_.
  CUgraph Capture(CUdeviceptr words, Word value) {
    CUgraph graph = nullptr;
    EXPECT_EQ(cuStreamBeginCapture(stream_, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_SUCCESS);
    EXPECT_EQ(cuMemsetD8Async(words, 0, kUpdateBytes, stream_), CUDA_SUCCESS);
    EXPECT_EQ(Launch(add_, stream_, words, kUpdateCount, value), CUDA_SUCCESS);
    EXPECT_EQ(cuMemcpyDtoHAsync(host_, words, kUpdateBytes, stream_), CUDA_SUCCESS);
    EXPECT_EQ(cuStreamEndCapture(stream_, &graph), CUDA_SUCCESS);
    return graph;
  }

  Word Run() {
    for (Word& word : host_) word = ~Word{0};
    EXPECT_EQ(cuGraphLaunch(exec_, stream_), CUDA_SUCCESS);
    EXPECT_EQ(cuStreamSynchronize(stream_), CUDA_SUCCESS);
    return host_[0];
  }

  Word host_[kUpdateCount] = {};
  CUdeviceptr words_ = 0;
  CUdeviceptr other_words_ = 0;
  CUfunction add_ = nullptr;
  CUgraph graph_ = nullptr;
  CUgraphExec exec_ = nullptr;
  CUgraphNode nodes_[3] = {};
};

TEST_F(GraphUpdateTest, NodeByNode) {
  EXPECT_EQ(Run(), 1u);
  const KernelNode kernel(add_, words_, kUpdateCount, Word{7});
  SIM_OK(cuGraphExecKernelNodeSetParams(exec_, nodes_[1], kernel.get()));
  EXPECT_EQ(Run(), 7u);
  const CUDA_MEMSET_NODE_PARAMS set = {words_, 0, 1, 1, kUpdateBytes, 1};
  SIM_OK(cuGraphExecMemsetNodeSetParams(exec_, nodes_[0], &set, context_));
  EXPECT_EQ(Run(), 0x0101010101010108u);
  CUDA_MEMCPY3D copy = {};
  SIM_OK(cuGraphMemcpyNodeGetParams(nodes_[2], &copy));
  copy.srcDevice = other_words_;
  SIM_OK(cuGraphExecMemcpyNodeSetParams(exec_, nodes_[2], &copy, context_));
  EXPECT_EQ(Run(), 0u);
  // The graph it was made from is as it was.
  CUDA_KERNEL_NODE_PARAMS params = {};
  SIM_OK(cuGraphKernelNodeGetParams(nodes_[1], &params));
  EXPECT_EQ(*static_cast<Word*>(params.kernelParams[2]), 1u);
  // The wrong type, and a node of no graph.
  EXPECT_EQ(cuGraphExecKernelNodeSetParams(exec_, nodes_[0], kernel.get()),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGraphExecKernelNodeSetParams(exec_, nullptr, kernel.get()), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(GraphUpdateTest, NodesCanBeTurnedOff) {
  unsigned enabled = 0;
  SIM_OK(cuGraphNodeGetEnabled(exec_, nodes_[1], &enabled));
  EXPECT_EQ(enabled, 1u);
  SIM_OK(cuGraphNodeSetEnabled(exec_, nodes_[1], 0));
  EXPECT_EQ(Run(), 0u);
  SIM_OK(cuGraphNodeSetEnabled(exec_, nodes_[1], 1));
  EXPECT_EQ(Run(), 1u);
}

TEST_F(GraphUpdateTest, FromAGraphOfTheSameShape) {
  const CUgraph update = Capture(other_words_, 9);
  CUgraphExecUpdateResultInfo info = {};
  SIM_OK(cuGraphExecUpdate(exec_, update, &info));
  EXPECT_EQ(info.result, CU_GRAPH_EXEC_UPDATE_SUCCESS);
  SIM_OK(cuGraphDestroy(update));
  EXPECT_EQ(Run(), 9u);
  EXPECT_EQ(ReadOne(other_words_), 9u);
  EXPECT_EQ(ReadOne(words_), 0u);
}

TEST_F(GraphUpdateTest, OtherShapesChangeNothing) {
  CUgraphExecUpdateResultInfo info = {};
  CUgraph more = nullptr;
  SIM_OK(cuGraphClone(&more, graph_));
  CUgraphNode extra = nullptr;
  SIM_OK(cuGraphAddEmptyNode(&extra, more, nullptr, 0));
  EXPECT_EQ(cuGraphExecUpdate(exec_, more, &info), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
  EXPECT_EQ(info.result, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED);
  SIM_OK(cuGraphDestroy(more));

  CUgraph turned = nullptr;
  SIM_OK(cuGraphClone(&turned, graph_));
  CUgraphNode nodes[3] = {};
  size_t count = 3;
  SIM_OK(cuGraphGetNodes(turned, nodes, &count));
  SIM_OK(cuGraphRemoveDependencies(turned, &nodes[0], &nodes[1], nullptr, 1));
  EXPECT_EQ(cuGraphExecUpdate(exec_, turned, &info), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
  EXPECT_EQ(info.result, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED);
  EXPECT_EQ(info.errorNode, nodes[1]);
  SIM_OK(cuGraphDestroy(turned));

  CUgraph other = nullptr;
  SIM_OK(cuGraphCreate(&other, 0));
  CUgraphNode previous = nullptr;
  for (int i = 0; i < 3; ++i) {
    CUgraphNode node = nullptr;
    SIM_OK(cuGraphAddEmptyNode(&node, other, &previous, i == 0 ? 0 : 1));
    previous = node;
  }
  EXPECT_EQ(cuGraphExecUpdate(exec_, other, &info), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
  EXPECT_EQ(info.result, CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED);
  SIM_OK(cuGraphDestroy(other));
  EXPECT_EQ(Run(), 1u);
}

// A launch that waits in its stream runs what the graph was when it was launched.
TEST_F(GraphUpdateTest, LaunchesKeepWhatTheyWereLaunchedWith) {
  {
    Gate gate;
    gate.Park(stream_);
    SIM_OK(cuGraphLaunch(exec_, stream_));
    const KernelNode kernel(add_, words_, kUpdateCount, Word{50});
    SIM_OK(cuGraphExecKernelNodeSetParams(exec_, nodes_[1], kernel.get()));
  }
  SIM_OK(cuStreamSynchronize(stream_));
  EXPECT_EQ(host_[0], 1u);
  EXPECT_EQ(Run(), 50u);
}

TEST_F(GraphUpdateTest, ANodeStaysDeviceUpdatable) {
  constexpr auto kUpdatable = CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE;
  CUkernelNodeAttrValue value{};
  SIM_OK(cuGraphKernelNodeGetAttribute(nodes_[1], kUpdatable, &value));
  EXPECT_EQ(value.deviceUpdatableKernelNode.deviceUpdatable, 0);
  value.deviceUpdatableKernelNode.deviceUpdatable = 1;
  SIM_OK(cuGraphKernelNodeSetAttribute(nodes_[1], kUpdatable, &value));
  value = {};
  EXPECT_EQ(cuGraphKernelNodeSetAttribute(nodes_[1], kUpdatable, &value), CUDA_ERROR_INVALID_VALUE);
  SIM_OK(cuGraphKernelNodeGetAttribute(nodes_[1], kUpdatable, &value));
  EXPECT_EQ(value.deviceUpdatableKernelNode.deviceUpdatable, 1);
  EXPECT_EQ(cuGraphDestroyNode(nodes_[1]), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGraphKernelNodeGetAttribute(nodes_[0], kUpdatable, &value), CUDA_ERROR_INVALID_VALUE)
      << "a fill";
}

TEST_F(GraphUpdateTest, InstantiationFlags) {
  CUgraphExec exec = nullptr;
  CUDA_GRAPH_INSTANTIATE_PARAMS params = {};
  params.flags =
      CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD | CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH;
  params.hUploadStream = stream_;
  SIM_OK(cuGraphInstantiateWithParams(&exec, graph_, &params));
  EXPECT_EQ(params.result_out, CUDA_GRAPH_INSTANTIATE_SUCCESS);
  cuuint64_t flags = 0;
  SIM_OK(cuGraphExecGetFlags(exec, &flags));
  EXPECT_EQ(flags, static_cast<cuuint64_t>(CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH));
  SIM_EXPECT_OK(cuGraphUpload(exec, stream_));
  SIM_EXPECT_OK(cuGraphExecDestroy(exec));
  EXPECT_EQ(cuGraphInstantiate(&exec, graph_, CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD),
            CUDA_ERROR_INVALID_VALUE);
}

}  // namespace
}  // namespace simcuda
