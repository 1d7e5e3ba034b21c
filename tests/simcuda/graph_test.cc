// Graphs that are built node by node.

#include <atomic>
#include <thread>
#include <vector>

#include "tests/simcuda/kernel_fixture.h"

namespace simcuda {
namespace {

constexpr size_t kCount = 64;
constexpr size_t kBytes = kCount * sizeof(Word);

class GraphTest : public KernelTest {
 protected:
  void SetUp() override {
    KernelTest::SetUp();
    SIM_OK(cuGraphCreate(&graph_, 0));
    words_ = Words(kCount);
    add_ = Loaded("add_constant");
  }
  void TearDown() override {
    SIM_EXPECT_OK(cuGraphDestroy(graph_));
    KernelTest::TearDown();
  }

  CUgraphNode AddKernel(Word value, const std::vector<CUgraphNode>& after) {
    const KernelNode params(add_, words_, kCount, value);
    CUgraphNode node = nullptr;
    EXPECT_EQ(cuGraphAddKernelNode(&node, graph_, after.data(), after.size(), params.get()),
              CUDA_SUCCESS);
    return node;
  }

  CUgraphExec Instantiate() {
    CUgraphExec exec = nullptr;
    EXPECT_EQ(cuGraphInstantiate(&exec, graph_, 0), CUDA_SUCCESS);
    return exec;
  }

  static CUDA_MEMCPY3D ToHost(CUdeviceptr from, void* to, size_t bytes) {
    CUDA_MEMCPY3D copy = {};
    copy.srcMemoryType = CU_MEMORYTYPE_DEVICE;
    copy.srcDevice = from;
    copy.dstMemoryType = CU_MEMORYTYPE_HOST;
    copy.dstHost = to;
    copy.WidthInBytes = bytes;
    copy.Height = copy.Depth = 1;
    return copy;
  }

  CUgraph graph_ = nullptr;
  CUdeviceptr words_ = 0;
  CUfunction add_ = nullptr;
};

TEST_F(GraphTest, NodesRunInTheOrderOfTheirEdges) {
  // Built back to front: copy, then the kernels, then the set that comes first.
  std::vector<Word> host(kCount);
  const CUDA_MEMCPY3D copy = ToHost(words_, host.data(), kBytes);
  CUgraphNode copy_node = nullptr;
  SIM_OK(cuGraphAddMemcpyNode(&copy_node, graph_, nullptr, 0, &copy, context_));
  const CUgraphNode second = AddKernel(20, {});
  const CUgraphNode first = AddKernel(1, {});
  const CUDA_MEMSET_NODE_PARAMS set = {words_, 0, 0, 4, kCount * 2, 1};
  CUgraphNode set_node = nullptr;
  SIM_OK(cuGraphAddMemsetNode(&set_node, graph_, nullptr, 0, &set, context_));
  const CUgraphNode from[] = {set_node, first, second};
  const CUgraphNode to[] = {first, second, copy_node};
  SIM_OK(cuGraphAddDependencies(graph_, from, to, nullptr, 3));
  EXPECT_EQ(cuGraphAddDependencies(graph_, from, to, nullptr, 1), CUDA_ERROR_INVALID_VALUE);

  const CUgraphExec exec = Instantiate();
  for (int run = 0; run < 3; ++run) {
    SIM_OK(cuGraphLaunch(exec, stream_));
    SIM_OK(cuStreamSynchronize(stream_));
    EXPECT_EQ(host, std::vector<Word>(kCount, 21));
  }
  SIM_EXPECT_OK(cuGraphExecDestroy(exec));
  EXPECT_EQ(cuGraphLaunch(exec, stream_), CUDA_ERROR_INVALID_VALUE);

  size_t count = 4;
  CUgraphNode nodes[4] = {};
  SIM_OK(cuGraphNodeGetDependencies(copy_node, nodes, nullptr, &count));
  EXPECT_EQ(count, 1u);
  EXPECT_EQ(nodes[0], second);
  EXPECT_EQ(nodes[1], nullptr);
  SIM_OK(cuGraphRemoveDependencies(graph_, from, to, nullptr, 1));
  count = 4;
  SIM_OK(cuGraphGetRootNodes(graph_, nodes, &count));
  EXPECT_EQ(count, 2u);
}

TEST_F(GraphTest, CyclesAndForeignNodesAreRefused) {
  const CUgraphNode first = AddKernel(1, {});
  const CUgraphNode second = AddKernel(1, {first});
  SIM_OK(cuGraphAddDependencies(graph_, &second, &first, nullptr, 1));
  CUgraphExec exec = nullptr;
  EXPECT_EQ(cuGraphInstantiate(&exec, graph_, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGraphAddDependencies(graph_, &first, &first, nullptr, 1), CUDA_ERROR_INVALID_VALUE);
  CUgraph other = nullptr;
  SIM_OK(cuGraphCreate(&other, 0));
  CUgraphNode node = nullptr;
  EXPECT_EQ(cuGraphAddEmptyNode(&node, other, &first, 1), CUDA_ERROR_INVALID_VALUE);
  const CUgraphNode twice[] = {first, first};
  EXPECT_EQ(cuGraphAddEmptyNode(&node, graph_, twice, 2), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGraphAddEmptyNode(&node, nullptr, nullptr, 0), CUDA_ERROR_INVALID_VALUE);
  SIM_OK(cuGraphDestroy(other));
  EXPECT_EQ(cuGraphDestroy(other), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGraphInstantiate(&exec, graph_, 1 << 20), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(GraphTest, ParametersAreReadBack) {
  const CUgraphNode kernel = AddKernel(17, {});
  CUDA_KERNEL_NODE_PARAMS params = {};
  SIM_OK(cuGraphKernelNodeGetParams(kernel, &params));
  EXPECT_EQ(params.func, add_);
  EXPECT_EQ(params.kern, nullptr);
  EXPECT_EQ(params.gridDimX, 2u);
  EXPECT_EQ(params.blockDimX, 64u);
  EXPECT_EQ(*static_cast<CUdeviceptr*>(params.kernelParams[0]), words_);
  EXPECT_EQ(*static_cast<Word*>(params.kernelParams[2]), 17u);

  std::vector<Word> host(kCount);
  const CUDA_MEMCPY3D copy = ToHost(words_, host.data(), kBytes);
  CUgraphNode copy_node = nullptr;
  SIM_OK(cuGraphAddMemcpyNode(&copy_node, graph_, nullptr, 0, &copy, context_));
  CUDA_MEMCPY3D got = {};
  SIM_OK(cuGraphMemcpyNodeGetParams(copy_node, &got));
  EXPECT_EQ(got.srcMemoryType, CU_MEMORYTYPE_DEVICE);
  EXPECT_EQ(got.srcDevice, words_);
  EXPECT_EQ(got.dstMemoryType, CU_MEMORYTYPE_HOST);
  EXPECT_EQ(got.dstHost, host.data());
  EXPECT_EQ(got.WidthInBytes, kBytes);

  const CUDA_MEMSET_NODE_PARAMS set = {words_, 32, 7, 2, 8, 4};
  CUgraphNode set_node = nullptr;
  SIM_OK(cuGraphAddMemsetNode(&set_node, graph_, nullptr, 0, &set, context_));
  CUDA_MEMSET_NODE_PARAMS set_got = {};
  SIM_OK(cuGraphMemsetNodeGetParams(set_node, &set_got));
  EXPECT_EQ(set_got.dst, words_);
  EXPECT_EQ(set_got.pitch, 32u);
  EXPECT_EQ(set_got.height, 4u);
  EXPECT_EQ(cuGraphKernelNodeGetParams(set_node, &params), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGraphMemsetNodeGetParams(kernel, &set_got), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(GraphTest, BadParametersMakeNoNode) {
  CUgraphNode node = nullptr;
  CUDA_MEMSET_NODE_PARAMS set = {words_, 0, 0, 3, 4, 1};
  EXPECT_EQ(cuGraphAddMemsetNode(&node, graph_, nullptr, 0, &set, context_),
            CUDA_ERROR_INVALID_VALUE);
  CUDA_MEMCPY3D copy = ToHost(words_, nullptr, 8);
  copy.srcMemoryType = CU_MEMORYTYPE_ARRAY;
  EXPECT_EQ(cuGraphAddMemcpyNode(&node, graph_, nullptr, 0, &copy, context_),
            CUDA_ERROR_INVALID_VALUE);
  KernelNode good(add_, words_, kCount, Word{1});
  CUDA_KERNEL_NODE_PARAMS bad = *good.get();
  bad.blockDimX = 0;
  EXPECT_EQ(cuGraphAddKernelNode(&node, graph_, nullptr, 0, &bad), CUDA_ERROR_INVALID_VALUE);
  bad = *good.get();
  bad.func = nullptr;
  EXPECT_EQ(cuGraphAddKernelNode(&node, graph_, nullptr, 0, &bad), CUDA_ERROR_INVALID_VALUE);
  CUgraphNodeParams conditional = {};
  conditional.type = CU_GRAPH_NODE_TYPE_CONDITIONAL;
  EXPECT_EQ(cuGraphAddNode(&node, graph_, nullptr, nullptr, 0, &conditional),
            CUDA_ERROR_NOT_SUPPORTED);
  size_t count = 0;
  SIM_OK(cuGraphGetNodes(graph_, nullptr, &count));
  EXPECT_EQ(count, 0u);
}

TEST_F(GraphTest, NodesByTheGenericCall) {
  CUgraphNodeParams params = {};
  params.type = CU_GRAPH_NODE_TYPE_MEMSET;
  params.memset = {words_, 0, 2, 1, kBytes, 1, context_};
  CUgraphNode set = nullptr;
  SIM_OK(cuGraphAddNode(&set, graph_, nullptr, nullptr, 0, &params));
  const KernelNode kernel(add_, words_, kCount, Word{1});
  params = {};
  params.type = CU_GRAPH_NODE_TYPE_KERNEL;
  params.kernel = {add_,    2,       1,      1, 64, 1, 1, 0, kernel.get()->kernelParams,
                   nullptr, nullptr, nullptr};
  CUgraphNode added = nullptr;
  SIM_OK(cuGraphAddNode(&added, graph_, &set, nullptr, 1, &params));
  const CUgraphExec exec = Instantiate();
  SIM_OK(cuGraphLaunch(exec, stream_));
  SIM_OK(cuStreamSynchronize(stream_));
  EXPECT_EQ(ReadOne(words_), 0x0202020202020203u);
  SIM_EXPECT_OK(cuGraphExecDestroy(exec));
}

TEST_F(GraphTest, ChildGraphsAndClones) {
  AddKernel(2, {});
  CUgraph outer = nullptr;
  SIM_OK(cuGraphCreate(&outer, 0));
  CUgraphNode first = nullptr;
  CUgraphNode second = nullptr;
  SIM_OK(cuGraphAddChildGraphNode(&first, outer, nullptr, 0, graph_));
  AddKernel(30, {});  // the first child is a copy and does not get this one
  SIM_OK(cuGraphAddChildGraphNode(&second, outer, &first, 1, graph_));
  CUgraph child = nullptr;
  SIM_OK(cuGraphChildGraphNodeGetGraph(first, &child));
  EXPECT_NE(child, graph_);
  EXPECT_EQ(cuGraphDestroy(child), CUDA_ERROR_INVALID_VALUE);
  size_t count = 0;
  SIM_OK(cuGraphGetNodes(child, nullptr, &count));
  EXPECT_EQ(count, 1u);

  CUgraph clone = nullptr;
  SIM_OK(cuGraphClone(&clone, outer));
  CUgraphNode copy = nullptr;
  SIM_OK(cuGraphNodeFindInClone(&copy, second, clone));
  SIM_OK(cuGraphDestroyNode(copy));
  CUgraphExec exec = nullptr;
  CUgraphExec exec_of_clone = nullptr;
  SIM_OK(cuGraphInstantiate(&exec, outer, 0));
  SIM_OK(cuGraphInstantiate(&exec_of_clone, clone, 0));
  SIM_OK(cuGraphDestroy(outer));
  SIM_OK(cuGraphDestroy(clone));
  SIM_OK(cuGraphLaunch(exec, stream_));
  SIM_OK(cuStreamSynchronize(stream_));
  EXPECT_EQ(ReadOne(words_), 2u + 32);
  SIM_OK(cuGraphLaunch(exec_of_clone, stream_));
  SIM_OK(cuStreamSynchronize(stream_));
  EXPECT_EQ(ReadOne(words_), 34u + 2);
  SIM_EXPECT_OK(cuGraphExecDestroy(exec));
  SIM_EXPECT_OK(cuGraphExecDestroy(exec_of_clone));
}

// An event that a graph records lets go who waits for it; a graph that waits holds its stream.
TEST_F(GraphTest, EventNodes) {
  CUevent recorded = nullptr;
  CUevent awaited = nullptr;
  SIM_OK(cuEventCreate(&recorded, CU_EVENT_DISABLE_TIMING));
  SIM_OK(cuEventCreate(&awaited, CU_EVENT_DISABLE_TIMING));
  CUgraphNode wait = nullptr;
  CUgraphNode record = nullptr;
  SIM_OK(cuGraphAddEventWaitNode(&wait, graph_, nullptr, 0, awaited));
  const CUgraphNode kernel = AddKernel(1, {wait});
  SIM_OK(cuGraphAddEventRecordNode(&record, graph_, &kernel, 1, recorded));
  CUevent got = nullptr;
  SIM_OK(cuGraphEventWaitNodeGetEvent(wait, &got));
  EXPECT_EQ(got, awaited);
  const CUgraphExec exec = Instantiate();
  const CUstream other = NewStream();
  Gate gate;
  gate.Park(other);
  SIM_OK(cuEventRecord(awaited, other));
  SIM_OK(cuGraphLaunch(exec, stream_));
  LetWorkersRun();
  EXPECT_EQ(cuEventQuery(recorded), CUDA_ERROR_NOT_READY);
  gate.Open();
  SIM_OK(cuEventSynchronize(recorded));
  EXPECT_EQ(ReadOne(words_), 1u);
  SIM_EXPECT_OK(cuGraphExecDestroy(exec));
}

TEST_F(GraphTest, HostNodesAndMemoryOperations) {
  static std::atomic<int> calls{0};
  calls = 0;
  CUstreamBatchMemOpParams operations[2] = {};
  operations[0].writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_64;
  operations[0].writeValue.address = words_;
  operations[0].writeValue.value64 = 40;
  operations[1].waitValue.operation = CU_STREAM_MEM_OP_WAIT_VALUE_64;
  operations[1].waitValue.address = words_;
  operations[1].waitValue.value64 = 40;
  const CUDA_BATCH_MEM_OP_NODE_PARAMS batch = {context_, 2, operations, 0};
  const CUDA_HOST_NODE_PARAMS host = {[](void*) { ++calls; }, nullptr};
  CUgraphNode write = nullptr;
  CUgraphNode call = nullptr;
  SIM_OK(cuGraphAddBatchMemOpNode(&write, graph_, nullptr, 0, &batch));
  SIM_OK(cuGraphAddHostNode(&call, graph_, &write, 1, &host));
  AddKernel(2, {call});
  const CUgraphExec exec = Instantiate();
  SIM_OK(cuGraphLaunch(exec, stream_));
  SIM_OK(cuStreamSynchronize(stream_));
  EXPECT_EQ(ReadOne(words_), 42u);
  EXPECT_EQ(calls, 1);
  SIM_EXPECT_OK(cuGraphExecDestroy(exec));
}

// Launches of one executable graph run one after the other, in whatever streams.
TEST_F(GraphTest, AnExecutableGraphRunsOnceAtATime) {
  AddKernel(1, {});
  const CUgraphExec exec = Instantiate();
  const CUstream other = NewStream();
  {
    Gate gate;
    gate.Park(stream_);
    SIM_OK(cuGraphLaunch(exec, stream_));
    SIM_OK(cuGraphLaunch(exec, other));
    LetWorkersRun();
    EXPECT_EQ(cuStreamQuery(other), CUDA_ERROR_NOT_READY);
  }
  SIM_OK(cuStreamSynchronize(other));
  EXPECT_EQ(ReadOne(words_), 2u);
  SIM_EXPECT_OK(cuGraphExecDestroy(exec));
}

// The chunk under a graph's nodes is remapped between launches; the graph never knows.
TEST_F(GraphTest, GraphsOutliveRemapping) {
  const Chunk chunk = MapChunk(DeviceProp());
  std::vector<Word> host(kCount);
  const CUDA_MEMSET_NODE_PARAMS set = {chunk.address, 0, 1, 4, kCount * 2, 1};
  CUgraphNode set_node = nullptr;
  SIM_OK(cuGraphAddMemsetNode(&set_node, graph_, nullptr, 0, &set, context_));
  const KernelNode add(add_, chunk.address, kCount, Word{1});
  CUgraphNode add_node = nullptr;
  SIM_OK(cuGraphAddKernelNode(&add_node, graph_, &set_node, 1, add.get()));
  const CUDA_MEMCPY3D copy = ToHost(chunk.address, host.data(), kBytes);
  CUgraphNode copy_node = nullptr;
  SIM_OK(cuGraphAddMemcpyNode(&copy_node, graph_, &add_node, 1, &copy, context_));
  const CUgraphExec exec = Instantiate();
  const CUmemAccessDesc access = DeviceAccess();
  CUmemGenericAllocationHandle handle = chunk.handle;
  for (int run = 0; run < 4; ++run) {
    std::fill(host.begin(), host.end(), 0);
    SIM_OK(cuGraphLaunch(exec, stream_));
    SIM_OK(cuStreamSynchronize(stream_));
    EXPECT_EQ(host, std::vector<Word>(kCount, 0x100000002u));
    const CUmemAllocationProp prop = run % 2 == 0 ? HostProp() : DeviceProp();
    SIM_OK(cuMemUnmap(chunk.address, chunk.size));
    SIM_OK(cuMemRelease(handle));
    SIM_OK(cuMemCreate(&handle, chunk.size, &prop, 0));
    SIM_OK(cuMemMap(chunk.address, chunk.size, 0, handle, 0));
    SIM_OK(cuMemSetAccess(chunk.address, chunk.size, &access, 1));
  }
  SIM_EXPECT_OK(cuGraphExecDestroy(exec));
  UnmapChunk({chunk.address, chunk.size, handle});
}

TEST_F(GraphTest, AFaultInAGraphKillsTheContext) {
  CUdeviceptr nowhere = 0;
  SIM_OK(cuMemAddressReserve(&nowhere, kGranularity, 0, 0, 0));
  const KernelNode touch(Function("touch"), nowhere);
  CUgraphNode node = nullptr;
  SIM_OK(cuGraphAddKernelNode(&node, graph_, nullptr, 0, touch.get()));
  const CUgraphExec exec = Instantiate();
  SIM_OK(cuGraphLaunch(exec, stream_));
  EXPECT_EQ(cuStreamSynchronize(stream_), CUDA_ERROR_ILLEGAL_ADDRESS);
  SIM_EXPECT_OK(cuGraphExecDestroy(exec));
  SIM_EXPECT_OK(cuMemAddressFree(nowhere, kGranularity));
}

// A graph goes on with the module gone: its ops keep the code.
TEST_F(GraphTest, GraphsKeepTheCodeTheyRun) {
  AddKernel(5, {});
  const CUgraphExec exec = Instantiate();
  SIM_OK(cuModuleUnload(module_));
  SIM_OK(cuGraphLaunch(exec, stream_));
  SIM_OK(cuStreamSynchronize(stream_));
  EXPECT_EQ(ReadOne(words_), 5u);
  SIM_EXPECT_OK(cuGraphExecDestroy(exec));
}

TEST_F(GraphTest, ThreadsBuildAndLaunchTheirOwn) {
  std::vector<CUdeviceptr> sums;
  for (int t = 0; t < 4; ++t) sums.push_back(Words(kCount));
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([this, sum = sums[static_cast<size_t>(t)]] {
      ASSERT_EQ(cuCtxSetCurrent(context_), CUDA_SUCCESS);
      CUstream stream = NewStream();
      for (int i = 0; i < 20; ++i) {
        CUgraph graph = nullptr;
        CUgraphNode node = nullptr;
        CUgraphExec exec = nullptr;
        ASSERT_EQ(cuGraphCreate(&graph, 0), CUDA_SUCCESS);
        const KernelNode params(add_, sum, kCount, Word{1});
        ASSERT_EQ(cuGraphAddKernelNode(&node, graph, nullptr, 0, params.get()), CUDA_SUCCESS);
        ASSERT_EQ(cuGraphInstantiate(&exec, graph, 0), CUDA_SUCCESS);
        ASSERT_EQ(cuGraphLaunch(exec, stream), CUDA_SUCCESS);
        ASSERT_EQ(cuGraphExecDestroy(exec), CUDA_SUCCESS);
        ASSERT_EQ(cuGraphDestroy(graph), CUDA_SUCCESS);
      }
      EXPECT_EQ(cuStreamSynchronize(stream), CUDA_SUCCESS);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (CUdeviceptr sum : sums) EXPECT_EQ(ReadOne(sum), 20u);
}

}  // namespace
}  // namespace simcuda
