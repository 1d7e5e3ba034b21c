// Graphs: a launch is one launch of everything its nodes name, whatever was done to them since it
// was instantiated. And captures, in which nothing is placed.
#include "tests/mover/traced_fixture.h"

namespace vramspan_test {
namespace {

// A kernel node that adds to a buffer. Holds the arguments.
class AddNode {
 public:
  AddNode(CUfunction add, const Buffer& b, Word value)
      : words_(b.ptr), count_(b.words), value_(value) {
    params_.func = add;
    params_.gridDimX = 4;
    params_.blockDimX = 64;
    params_.gridDimY = params_.gridDimZ = params_.blockDimY = params_.blockDimZ = 1;
    params_.kernelParams = list_;
  }
  AddNode(const AddNode&) = delete;
  AddNode& operator=(const AddNode&) = delete;

  const CUDA_KERNEL_NODE_PARAMS* get() const { return &params_; }

 private:
  CUdeviceptr words_;
  size_t count_;
  Word value_;
  void* list_[3] = {&words_, &count_, &value_};
  CUDA_KERNEL_NODE_PARAMS params_{};
};

class TracedGraphs : public TracedTest {
 protected:
  ~TracedGraphs() override {
    if (runtime_ != nullptr) runtime_->Synchronize();
    for (const CUgraphExec exec : execs_) EXPECT_CU(DRIVER(cuGraphExecDestroy)(exec));
    for (const CUgraph graph : graphs_) EXPECT_CU(DRIVER(cuGraphDestroy)(graph));
  }

  // Adds `value` to each of these.
  CUgraph Capture(const Indices& which, Word value,
                  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL) {
    EXPECT_CU(DRIVER(cuStreamBeginCapture)(stream_, mode));
    for (const size_t i : which) EXPECT_CU(world_.LaunchAdd(buffers_[i], value, stream_));
    CUgraph graph = nullptr;
    EXPECT_CU(DRIVER(cuStreamEndCapture)(stream_, &graph));
    return graphs_.emplace_back(graph);
  }
  CUgraph NewGraph() {
    CUgraph graph = nullptr;
    EXPECT_CU(DRIVER(cuGraphCreate)(&graph, 0));
    return graphs_.emplace_back(graph);
  }
  CUgraphExec Instantiate(CUgraph graph) {
    CUgraphExec exec = nullptr;
    EXPECT_CU(DRIVER(cuGraphInstantiate)(&exec, graph, 0));
    return execs_.emplace_back(exec);
  }
  CUgraphNode Add1(CUgraph graph, size_t i) {
    const AddNode params(world_.Kernel("add_constant"), buffers_[i], 1);
    CUgraphNode node = nullptr;
    EXPECT_CU(DRIVER(cuGraphAddKernelNode)(&node, graph, nullptr, 0, params.get()));
    return node;
  }
  static CUDA_MEMCPY3D Whole(const Buffer& to, const Buffer& from) {
    CUDA_MEMCPY3D copy{};
    copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    copy.srcDevice = from.ptr;
    copy.dstDevice = to.ptr;
    copy.WidthInBytes = kChunk;
    copy.Height = copy.Depth = 1;
    return copy;
  }
  void Copied(size_t to, size_t from) {
    buffers_[to].seed = buffers_[from].seed;
    buffers_[to].add = buffers_[from].add;
  }
  void Launch(CUgraphExec exec) { EXPECT_CU(DRIVER(cuGraphLaunch)(exec, stream_)); }
  // A graph that adds 1 to each of these.
  void ExpectAdds(CUgraphExec exec, const Indices& which) {
    ExpectFetched(which, [&] { Launch(exec); });
    Added(which, 1);
  }

  std::vector<CUgraph> graphs_;
  std::vector<CUgraphExec> execs_;
};
INSTANTIATE_TRACED(TracedGraphs);

TEST_P(TracedGraphs, Captured) {
  ASSERT_NO_FATAL_FAILURE(Start());
  const CUgraphExec exec = Instantiate(Capture({0, 3, 6}, 1));
  ExpectAdds(exec, {0, 3, 6});
  ExpectAdds(exec, {0, 3, 6});
  // The graph that it was made from has nothing to do with it any more.
  EXPECT_CU(DRIVER(cuGraphDestroy)(graphs_.back()));
  graphs_.pop_back();
  ExpectAdds(exec, {0, 3, 6});
}

TEST_P(TracedGraphs, OfNodes) {
  ASSERT_NO_FATAL_FAILURE(Start());
  const CUgraph graph = NewGraph();
  const CUgraphNode add = Add1(graph, 1);
  const CUDA_MEMCPY3D copy = Whole(buffers_[2], buffers_[1]);
  CUgraphNode node = nullptr;
  EXPECT_CU(DRIVER(cuGraphAddMemcpyNode)(&node, graph, &add, 1, &copy, world_.context()));
  const CUDA_MEMSET_NODE_PARAMS set{buffers_[7].ptr, 0, 5, 4, kChunk / 4, 1};
  EXPECT_CU(DRIVER(cuGraphAddMemsetNode)(&node, graph, nullptr, 0, &set, world_.context()));
  const CUgraphExec exec = Instantiate(graph);
  ExpectFetched({1, 2, 7}, [&] { Launch(exec); });
  Added({1}, 1);
  Copied(2, 1);
  std::vector<Word> words(kChunkWords);
  EXPECT_CU(world_.api().MemcpyDtoHAsync(words.data(), buffers_[7].ptr, kChunk, stream_));
  Wait(stream_);
  EXPECT_EQ(words, std::vector<Word>(kChunkWords, 0x500000005ull));
  EXPECT_CU(world_.LaunchFill(buffers_[7], stream_));
}

TEST_P(TracedGraphs, OfGraphs) {
  ASSERT_NO_FATAL_FAILURE(Start());
  const CUgraph innermost = Capture({2}, 1), inner = NewGraph(), outer = NewGraph();
  CUgraphNode node = nullptr;
  EXPECT_CU(DRIVER(cuGraphAddChildGraphNode)(&node, inner, nullptr, 0, innermost));
  Add1(inner, 4);
  CUgraphNode child = nullptr;
  EXPECT_CU(DRIVER(cuGraphAddChildGraphNode)(&child, outer, nullptr, 0, inner));
  Add1(outer, 6);
  const CUgraphExec exec = Instantiate(outer);
  ExpectAdds(exec, {2, 4, 6});
  // A child of the same shape in its place.
  const CUgraph other_innermost = Capture({1}, 1), other = NewGraph();
  EXPECT_CU(DRIVER(cuGraphAddChildGraphNode)(&node, other, nullptr, 0, other_innermost));
  Add1(other, 3);
  EXPECT_CU(DRIVER(cuGraphExecChildGraphNodeSetParams)(exec, child, other));
  ExpectAdds(exec, {1, 3, 6});
}

TEST_P(TracedGraphs, UpdatedAsAWhole) {
  ASSERT_NO_FATAL_FAILURE(Start());
  const CUgraphExec exec = Instantiate(Capture({0, 1}, 1));
  ExpectAdds(exec, {0, 1});
  CUgraphExecUpdateResultInfo info{};
  EXPECT_CU(DRIVER(cuGraphExecUpdate)(exec, Capture({5, 7}, 1), &info));
  const uint64_t touches = runtime_->stats().touches;
  ExpectAdds(exec, {5, 7});
  EXPECT_EQ(runtime_->stats().touches, touches + 2);
  // One that fails changes nothing.
  EXPECT_NE(DRIVER(cuGraphExecUpdate)(exec, Capture({2}, 1), &info), CUDA_SUCCESS);
  ExpectAdds(exec, {5, 7});
}

TEST_P(TracedGraphs, UpdatedNodeByNode) {
  ASSERT_NO_FATAL_FAILURE(Start());
  const CUgraph graph = NewGraph();
  const CUgraphNode add = Add1(graph, 0);
  CUDA_MEMCPY3D copy = Whole(buffers_[2], buffers_[1]);
  CUgraphNode copies = nullptr, sets = nullptr;
  EXPECT_CU(DRIVER(cuGraphAddMemcpyNode)(&copies, graph, nullptr, 0, &copy, world_.context()));
  CUDA_MEMSET_NODE_PARAMS set{buffers_[3].ptr, 0, 5, 4, kChunk / 4, 1};
  EXPECT_CU(DRIVER(cuGraphAddMemsetNode)(&sets, graph, nullptr, 0, &set, world_.context()));
  const CUgraphExec exec = Instantiate(graph);
  Launch(exec);
  Added({0}, 1);
  Copied(2, 1);
  EXPECT_CU(world_.LaunchFill(buffers_[3], stream_));

  const AddNode params(world_.Kernel("add_constant"), buffers_[4], 9);
  EXPECT_CU(DRIVER(cuGraphExecKernelNodeSetParams)(exec, add, params.get()));
  copy = Whole(buffers_[6], buffers_[5]);
  EXPECT_CU(DRIVER(cuGraphExecMemcpyNodeSetParams)(exec, copies, &copy, world_.context()));
  set.dst = buffers_[7].ptr;
  EXPECT_CU(DRIVER(cuGraphExecMemsetNodeSetParams)(exec, sets, &set, world_.context()));
  const uint64_t touches = runtime_->stats().touches;
  ExpectFetched({4, 5, 6, 7}, [&] { Launch(exec); });
  EXPECT_EQ(runtime_->stats().touches, touches + 4);
  Added({4}, 9);
  Copied(6, 5);
  EXPECT_CU(world_.LaunchFill(buffers_[7], stream_));

  // The call that serves nodes of every kind.
  const AddNode again(world_.Kernel("add_constant"), buffers_[1], 1);
  CUgraphNodeParams any{};
  any.type = CU_GRAPH_NODE_TYPE_KERNEL;
  any.kernel.func = again.get()->func;
  any.kernel.gridDimX = 4;
  any.kernel.blockDimX = 64;
  any.kernel.gridDimY = any.kernel.gridDimZ = any.kernel.blockDimY = any.kernel.blockDimZ = 1;
  any.kernel.kernelParams = again.get()->kernelParams;
  EXPECT_CU(DRIVER(cuGraphExecNodeSetParams)(exec, add, &any));
  ExpectFetched({1, 5, 6}, [&] { Launch(exec); });
  Added({1}, 1);
  Copied(6, 5);
  EXPECT_CU(world_.LaunchFill(buffers_[7], stream_));
}

TEST_P(TracedGraphs, ByTurnsWithMoreThanFits) {
  ASSERT_NO_FATAL_FAILURE(Start(9));
  const Indices sets[] = {{0, 1, 2}, {3, 4, 5}, {6, 7, 8}};
  CUgraphExec execs[3];
  for (int s = 0; s < 3; ++s) execs[s] = Instantiate(Capture(sets[s], 1));
  for (int round = 0; round < 10; ++round) {
    for (int s = 0; s < 3; ++s) {
      Launch(execs[s]);
      Added(sets[s], 1);
      if (round % 4 == s) {
        CUgraphExecUpdateResultInfo info{};
        const Indices other = sets[(s + 1) % 3];
        EXPECT_CU(DRIVER(cuGraphExecUpdate)(execs[s], Capture(other, 1), &info));
        Launch(execs[s]);
        Added(other, 1);
        EXPECT_CU(DRIVER(cuGraphExecUpdate)(execs[s], Capture(sets[s], 1), &info));
      }
    }
  }
  runtime_->Synchronize();
  EXPECT_GT(runtime_->stats().evictions, 9u);
  EXPECT_EQ(runtime_->stats().launches_unknown, 0u);
}

TEST_P(TracedGraphs, NothingIsPlacedInACapture) {
  ASSERT_NO_FATAL_FAILURE(Start());
  const CUstream other = NewStream();
  ASSERT_NO_FATAL_FAILURE(PlaceOnHost({2, 3}));
  const vramspanStatistics before = runtime_->stats();
  const long long waits = world_.call_count("cuStreamWaitValue32");
  EXPECT_CU(DRIVER(cuStreamBeginCapture)(stream_, CU_STREAM_CAPTURE_MODE_GLOBAL));
  EXPECT_CU(world_.LaunchAdd(buffers_[2], 1, stream_));
  const CUDA_MEMCPY3D copy = Whole(buffers_[3], buffers_[2]);
  EXPECT_CU(DRIVER(cuMemcpy3DAsync)(&copy, stream_));
  // A stream that joins the capture is as much a part of it.
  CUevent fork = nullptr, join = nullptr;
  EXPECT_CU(world_.api().EventCreate(&fork, CU_EVENT_DISABLE_TIMING));
  EXPECT_CU(world_.api().EventCreate(&join, CU_EVENT_DISABLE_TIMING));
  EXPECT_CU(world_.api().EventRecord(fork, stream_));
  EXPECT_CU(world_.api().StreamWaitEvent(other, fork, 0));
  EXPECT_CU(world_.LaunchAdd(buffers_[4], 1, other));
  EXPECT_CU(world_.api().EventRecord(join, other));
  EXPECT_CU(world_.api().StreamWaitEvent(stream_, join, 0));
  CUgraph graph = nullptr;
  EXPECT_CU(DRIVER(cuStreamEndCapture)(stream_, &graph));
  graphs_.push_back(graph);
  EXPECT_EQ(runtime_->stats().works, before.works);
  EXPECT_EQ(runtime_->stats().works_held, before.works_held);
  EXPECT_EQ(runtime_->stats().fetches, before.fetches);
  EXPECT_EQ(world_.call_count("cuStreamWaitValue32"), waits);
  size_t nodes = 0;
  EXPECT_CU(DRIVER(cuGraphGetNodes)(graph, nullptr, &nodes));
  EXPECT_EQ(nodes, 3u);
  const CUgraphExec exec = Instantiate(graph);
  ExpectFetched({2, 3, 4}, [&] { Launch(exec); });
  Added({2, 4}, 1);
  Copied(3, 2);
  EXPECT_CU(world_.api().EventDestroy(fork));
  EXPECT_CU(world_.api().EventDestroy(join));
}

// What the driver looks up finds its memory mapped, however long a remap leaves it without.
TEST_P(TracedGraphs, CapturedCopiesAndQueriesWhileMemoryMoves) {
  ASSERT_NO_FATAL_FAILURE(Start(12));
  const CUstream other = NewStream();
  Wait(stream_);
  world_.set_delay("cuMemMap", 1000);
  int copies_refused = 0, queries_refused = 0;
  {
    Pressure pressure(this, {0, 1, 2, 3, 4, 5});
    for (size_t n = 0; n < 150; ++n) {
      const Buffer &to = buffers_[n % 6], &from = buffers_[(n + 3) % 6];
      EXPECT_CU(DRIVER(cuStreamBeginCapture)(other, CU_STREAM_CAPTURE_MODE_RELAXED));
      copies_refused += DRIVER(cuMemcpyDtoDAsync)(to.ptr, from.ptr, kChunk, other) != CUDA_SUCCESS;
      CUgraph graph = nullptr;
      EXPECT_CU(DRIVER(cuStreamEndCapture)(other, &graph));
      EXPECT_CU(DRIVER(cuGraphDestroy)(graph));
      CUmemorytype type{};
      queries_refused += DRIVER(cuPointerGetAttribute)(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                                       to.ptr) != CUDA_SUCCESS;
    }
  }
  world_.set_delay("cuMemMap", 0);
  EXPECT_EQ(copies_refused, 0);
  EXPECT_EQ(queries_refused, 0);
}

TEST_P(TracedGraphs, InstantiatedWhileMemoryMoves) {
  ASSERT_NO_FATAL_FAILURE(Start(12));
  const CUstream other = NewStream();
  Wait(stream_);
  EXPECT_CU(DRIVER(cuStreamBeginCapture)(other, CU_STREAM_CAPTURE_MODE_RELAXED));
  for (size_t i = 0; i < 6; ++i) {
    EXPECT_CU(DRIVER(cuMemsetD8Async)(buffers_[i].ptr, 1, kChunk, other));
  }
  CUgraph graph = nullptr;
  EXPECT_CU(DRIVER(cuStreamEndCapture)(other, &graph));
  graphs_.push_back(graph);
  world_.set_delay("cuMemMap", 1000);
  {
    Pressure pressure(this, {0, 1, 2, 3, 4, 5});
    for (size_t n = 0; n < 50; ++n) {
      CUgraphExec exec = nullptr;
      const CUresult result = DRIVER(cuGraphInstantiateWithFlags)(&exec, graph, 0);
      EXPECT_CU(result);
      if (result != CUDA_SUCCESS) break;
      EXPECT_CU(DRIVER(cuGraphExecDestroy)(exec));
    }
  }
  world_.set_delay("cuMemMap", 0);
}

// Moves beside captures of every kind ruin none.
TEST_P(TracedGraphs, CapturesWhileMemoryMoves) {
  ASSERT_NO_FATAL_FAILURE(Start(9));
  Wait(stream_);
  Pressure pressure(this, {0, 1, 2, 3, 4, 5});
  const uint64_t moved = runtime_->stats().evictions;
  int captures = 0;
  while (captures < 21 || runtime_->stats().evictions < moved + 10) {
    const CUstreamCaptureMode modes[] = {CU_STREAM_CAPTURE_MODE_GLOBAL,
                                         CU_STREAM_CAPTURE_MODE_THREAD_LOCAL,
                                         CU_STREAM_CAPTURE_MODE_RELAXED};
    const CUgraph graph = Capture({6, 7, 8}, 1, modes[captures++ % 3]);
    ASSERT_NE(graph, nullptr);
    Launch(Instantiate(graph));
    Added({6, 7, 8}, 1);
    Wait(stream_);
    EXPECT_CU(DRIVER(cuGraphExecDestroy)(execs_.back()));
    execs_.pop_back();
    EXPECT_CU(DRIVER(cuGraphDestroy)(graph));
    graphs_.pop_back();
  }
}

}  // namespace
}  // namespace vramspan_test
