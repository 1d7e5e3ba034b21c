// Stream capture: what becomes of captured work, joins across streams, and what ruins a capture.

#include <atomic>
#include <thread>
#include <vector>

#include "tests/simcuda/kernel_fixture.h"

namespace simcuda {
namespace {

constexpr CUstreamCaptureMode kGlobal = CU_STREAM_CAPTURE_MODE_GLOBAL;
constexpr CUstreamCaptureMode kThreadLocal = CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
constexpr CUstreamCaptureMode kRelaxed = CU_STREAM_CAPTURE_MODE_RELAXED;
constexpr size_t kCaptureCount = 64;

class CaptureTest : public KernelTest {
 protected:
  void SetUp() override {
    KernelTest::SetUp();
    words_ = Words(kCaptureCount);
    add_ = Loaded("add_constant");
    SIM_OK(cuEventCreate(&event_, CU_EVENT_DISABLE_TIMING));
    SIM_OK(cuEventCreate(&other_event_, CU_EVENT_DISABLE_TIMING));
    other_ = NewStream();
  }

  CUresult Add(CUstream stream, Word value) {
    return Launch(add_, stream, words_, kCaptureCount, value);
  }

  CUstreamCaptureStatus Status(CUstream stream) {
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    EXPECT_EQ(cuStreamIsCapturing(stream, &status), CUDA_SUCCESS);
    return status;
  }

  // Ends the capture that a call has ruined.
  void ExpectRuined(CUstream stream) {
    EXPECT_EQ(Status(stream), CU_STREAM_CAPTURE_STATUS_INVALIDATED);
    EXPECT_EQ(Add(stream, 1), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    CUgraph graph = nullptr;
    EXPECT_EQ(cuStreamEndCapture(stream, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    EXPECT_EQ(graph, nullptr);
    EXPECT_EQ(Status(stream), CU_STREAM_CAPTURE_STATUS_NONE);
  }

  void ExpectGood(CUstream stream) {
    EXPECT_EQ(Status(stream), CU_STREAM_CAPTURE_STATUS_ACTIVE);
    CUgraph graph = nullptr;
    SIM_OK(cuStreamEndCapture(stream, &graph));
    SIM_EXPECT_OK(cuGraphDestroy(graph));
  }

  // Runs a graph once in stream_ and waits.
  void Run(CUgraph graph) {
    CUgraphExec exec = nullptr;
    SIM_OK(cuGraphInstantiate(&exec, graph, 0));
    SIM_OK(cuGraphLaunch(exec, stream_));
    SIM_OK(cuStreamSynchronize(stream_));
    SIM_EXPECT_OK(cuGraphExecDestroy(exec));
  }

  void InAnotherThread(CUstreamCaptureMode mode, const std::function<void()>& body) {
    std::thread thread([&] {
      CUstreamCaptureMode exchanged = mode;
      EXPECT_EQ(cuCtxSetCurrent(context_), CUDA_SUCCESS);
      EXPECT_EQ(cuThreadExchangeStreamCaptureMode(&exchanged), CUDA_SUCCESS);
      body();
    });
    thread.join();
  }

  CUdeviceptr words_ = 0;
  CUfunction add_ = nullptr;
  CUevent event_ = nullptr;
  CUevent other_event_ = nullptr;
  CUstream other_ = nullptr;
};

TEST_F(CaptureTest, CapturedWorkRunsWithTheGraph) {
  Word host[kCaptureCount] = {};
  SIM_OK(cuStreamBeginCapture(stream_, kGlobal));
  EXPECT_EQ(Status(stream_), CU_STREAM_CAPTURE_STATUS_ACTIVE);
  SIM_OK(cuMemsetD32Async(words_, 0, kCaptureCount * 2, stream_));
  SIM_OK(Add(stream_, 5));
  SIM_OK(cuMemcpyDtoHAsync(host, words_, sizeof(host), stream_));
  CUgraph graph = nullptr;
  SIM_OK(cuStreamEndCapture(stream_, &graph));
  SIM_OK(cuStreamSynchronize(stream_));
  EXPECT_EQ(host[0], 0u);  // nothing ran

  size_t count = 0;
  SIM_OK(cuGraphGetNodes(graph, nullptr, &count));
  ASSERT_EQ(count, 3u);
  CUgraphNode nodes[3] = {};
  SIM_OK(cuGraphGetNodes(graph, nodes, &count));
  const CUgraphNodeType types[] = {CU_GRAPH_NODE_TYPE_MEMSET, CU_GRAPH_NODE_TYPE_KERNEL,
                                   CU_GRAPH_NODE_TYPE_MEMCPY};
  for (int i = 0; i < 3; ++i) {
    CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
    SIM_EXPECT_OK(cuGraphNodeGetType(nodes[i], &type));
    EXPECT_EQ(type, types[i]);
  }
  Run(graph);
  EXPECT_EQ(host[0], 5u);
  EXPECT_EQ(host[kCaptureCount - 1], 5u);
  SIM_EXPECT_OK(cuGraphDestroy(graph));
}

TEST_F(CaptureTest, EventsJoinStreams) {
  SIM_OK(cuStreamBeginCapture(stream_, kThreadLocal));
  SIM_OK(Add(stream_, 1));
  SIM_OK(cuEventRecord(event_, stream_));
  SIM_OK(cuStreamWaitEvent(other_, event_, 0));
  EXPECT_EQ(Status(other_), CU_STREAM_CAPTURE_STATUS_ACTIVE);
  SIM_OK(Add(other_, 10));
  SIM_OK(Add(stream_, 100));
  SIM_OK(cuEventRecord(other_event_, other_));
  SIM_OK(cuStreamWaitEvent(stream_, other_event_, 0));
  SIM_OK(Add(stream_, 1000));
  CUgraph graph = nullptr;
  SIM_OK(cuStreamEndCapture(stream_, &graph));
  EXPECT_EQ(Status(other_), CU_STREAM_CAPTURE_STATUS_NONE);

  size_t edges = 0;
  SIM_OK(cuGraphGetEdges(graph, nullptr, nullptr, nullptr, &edges));
  EXPECT_EQ(edges, 4u);
  size_t roots = 0;
  SIM_OK(cuGraphGetRootNodes(graph, nullptr, &roots));
  EXPECT_EQ(roots, 1u);
  Run(graph);
  EXPECT_EQ(ReadOne(words_), 1111u);
  // The event stands for captured work, and that capture is over.
  EXPECT_EQ(cuEventQuery(event_), CUDA_ERROR_CAPTURED_EVENT);
  EXPECT_EQ(cuStreamWaitEvent(stream_, event_, 0), CUDA_ERROR_CAPTURED_EVENT);
  SIM_OK(cuEventRecord(event_, stream_));
  SIM_EXPECT_OK(cuEventSynchronize(event_));
  SIM_EXPECT_OK(cuGraphDestroy(graph));
}

TEST_F(CaptureTest, ForgottenJoinsAreAnError) {
  SIM_OK(cuStreamBeginCapture(stream_, kThreadLocal));
  SIM_OK(cuEventRecord(event_, stream_));
  SIM_OK(cuStreamWaitEvent(other_, event_, 0));
  SIM_OK(Add(other_, 1));
  CUgraph graph = nullptr;
  EXPECT_EQ(cuStreamEndCapture(stream_, &graph), CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
  EXPECT_EQ(graph, nullptr);
  EXPECT_EQ(Status(other_), CU_STREAM_CAPTURE_STATUS_NONE);
}

TEST_F(CaptureTest, BeginAndEndInTheWrongPlace) {
  CUgraph graph = nullptr;
  EXPECT_EQ(cuStreamEndCapture(stream_, &graph), CUDA_ERROR_ILLEGAL_STATE);
  EXPECT_EQ(cuStreamBeginCapture(nullptr, kGlobal), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  EXPECT_EQ(cuStreamBeginCapture(stream_, static_cast<CUstreamCaptureMode>(7)),
            CUDA_ERROR_INVALID_VALUE);
  SIM_OK(cuStreamBeginCapture(stream_, kGlobal));
  EXPECT_EQ(cuStreamBeginCapture(stream_, kGlobal), CUDA_ERROR_ILLEGAL_STATE);
  InAnotherThread(kRelaxed, [&] {
    EXPECT_EQ(cuStreamEndCapture(stream_, &graph), CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
  });
  ExpectGood(stream_);
  SIM_OK(cuStreamBeginCapture(stream_, kRelaxed));
  InAnotherThread(kGlobal, [&] { EXPECT_EQ(cuStreamEndCapture(stream_, &graph), CUDA_SUCCESS); });
  SIM_EXPECT_OK(cuGraphDestroy(graph));

  SIM_OK(cuStreamBeginCapture(stream_, kGlobal));
  SIM_OK(cuEventRecord(event_, stream_));
  SIM_OK(cuStreamWaitEvent(other_, event_, 0));
  EXPECT_EQ(cuStreamEndCapture(other_, &graph), CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
  EXPECT_EQ(cuStreamEndCapture(stream_, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
}

// What the mover does beside a program's capture must leave it alone.
TEST_F(CaptureTest, HarmlessBesideAGlobalCapture) {
  Gate gate;
  SIM_OK(cuStreamBeginCapture(stream_, kGlobal));
  SIM_OK(Add(stream_, 1));
  const Chunk chunk = MapChunk(DeviceProp());
  SIM_EXPECT_OK(cuMemsetD8Async(chunk.address, 1, chunk.size, other_));
  SIM_EXPECT_OK(cuEventRecord(event_, other_));
  SIM_EXPECT_OK(cuStreamWaitEvent(other_, event_, 0));
  gate.Park(other_);
  gate.Open();
  InAnotherThread(kRelaxed, [&] {
    EXPECT_EQ(cuStreamSynchronize(other_), CUDA_SUCCESS);
    EXPECT_EQ(cuEventSynchronize(event_), CUDA_SUCCESS);
    EXPECT_EQ(cuStreamQuery(other_), CUDA_SUCCESS);
  });
  UnmapChunk(chunk);
  // The capturing thread itself may as well, while it is relaxed.
  CUstreamCaptureMode mode = kRelaxed;
  SIM_OK(cuThreadExchangeStreamCaptureMode(&mode));
  SIM_EXPECT_OK(cuStreamSynchronize(other_));
  SIM_OK(cuThreadExchangeStreamCaptureMode(&mode));
  EXPECT_EQ(mode, kRelaxed);
  ExpectGood(stream_);
}

TEST_F(CaptureTest, SynchronisingAnyStreamRuinsAGlobalCapture) {
  for (const CUstreamCaptureMode thread_mode : {kGlobal, kThreadLocal}) {
    SIM_OK(cuStreamBeginCapture(stream_, kGlobal));
    InAnotherThread(thread_mode, [&] {
      const CUresult expected =
          thread_mode == kGlobal ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : CUDA_SUCCESS;
      EXPECT_EQ(cuStreamSynchronize(other_), expected);
    });
    if (thread_mode == kGlobal) {
      ExpectRuined(stream_);
    } else {
      ExpectGood(stream_);
    }
  }
  SIM_OK(cuEventRecord(event_, other_));
  SIM_OK(cuStreamBeginCapture(stream_, kThreadLocal));
  EXPECT_EQ(cuEventSynchronize(event_), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  ExpectRuined(stream_);
  // A capture of another thread that is not global does not concern this one.
  SIM_OK(cuStreamBeginCapture(stream_, kThreadLocal));
  InAnotherThread(kGlobal, [&] { EXPECT_EQ(cuStreamSynchronize(other_), CUDA_SUCCESS); });
  ExpectGood(stream_);
  // A relaxed one forbids nothing to its own thread.
  SIM_OK(cuStreamBeginCapture(stream_, kRelaxed));
  SIM_EXPECT_OK(cuStreamSynchronize(other_));
  ExpectGood(stream_);
}

TEST_F(CaptureTest, AllocationRuinsUnlessRelaxed) {
  CUdeviceptr address = 0;
  SIM_OK(cuStreamBeginCapture(stream_, kGlobal));
  EXPECT_EQ(cuMemAlloc(&address, 16), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  ExpectRuined(stream_);
  SIM_OK(cuStreamBeginCapture(stream_, kRelaxed));
  SIM_EXPECT_OK(cuMemAlloc(&address, 16));
  SIM_EXPECT_OK(cuMemFree(address));
  ExpectGood(stream_);
}

TEST_F(CaptureTest, ContextSynchronisationAndPlainCopiesRuinInEveryMode) {
  Word word = 0;
  for (const CUstreamCaptureMode mode : {kGlobal, kRelaxed}) {
    SIM_OK(cuStreamBeginCapture(stream_, mode));
    InAnotherThread(kRelaxed, [&] { EXPECT_NE(cuCtxSynchronize(), CUDA_SUCCESS); });
    ExpectRuined(stream_);
    SIM_OK(cuStreamBeginCapture(stream_, mode));
    InAnotherThread(kRelaxed,
                    [&] { EXPECT_NE(cuMemcpyDtoH(&word, words_, sizeof(word)), CUDA_SUCCESS); });
    ExpectRuined(stream_);
  }
}

TEST_F(CaptureTest, LegacyWorkRuinsTheCaptureOfABlockingStream) {
  CUstream blocking = nullptr;
  SIM_OK(cuStreamCreate(&blocking, CU_STREAM_DEFAULT));
  SIM_OK(cuStreamBeginCapture(blocking, kRelaxed));
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  EXPECT_EQ(cuStreamIsCapturing(nullptr, &status), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
  EXPECT_EQ(Add(nullptr, 1), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
  ExpectRuined(blocking);
  SIM_OK(cuStreamBeginCapture(stream_, kRelaxed));
  SIM_EXPECT_OK(Add(nullptr, 1));
  ExpectGood(stream_);
}

TEST_F(CaptureTest, WaitingForUncapturedWorkRuins) {
  SIM_OK(cuEventRecord(event_, other_));
  SIM_OK(cuStreamBeginCapture(stream_, kRelaxed));
  SIM_EXPECT_OK(cuStreamWaitEvent(stream_, other_event_, 0));  // never recorded
  EXPECT_EQ(cuStreamWaitEvent(stream_, event_, 0), CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
  ExpectRuined(stream_);
}

TEST_F(CaptureTest, CapturesDoNotMerge) {
  SIM_OK(cuStreamBeginCapture(stream_, kRelaxed));
  SIM_OK(cuStreamBeginCapture(other_, kRelaxed));
  SIM_OK(cuEventRecord(event_, other_));
  EXPECT_EQ(cuStreamWaitEvent(stream_, event_, 0), CUDA_ERROR_STREAM_CAPTURE_MERGE);
  ExpectRuined(stream_);
  ExpectRuined(other_);
}

TEST_F(CaptureTest, SynchronisingTheCapturingStreamRuins) {
  SIM_OK(cuStreamBeginCapture(stream_, kRelaxed));
  EXPECT_EQ(cuStreamSynchronize(stream_), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  ExpectRuined(stream_);
  SIM_OK(cuStreamBeginCapture(stream_, kRelaxed));
  EXPECT_EQ(cuStreamQuery(stream_), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  ExpectRuined(stream_);
}

TEST_F(CaptureTest, DestroyingTheStreamEndsItsCapture) {
  SIM_OK(cuStreamBeginCapture(other_, kGlobal));
  SIM_OK(cuStreamDestroy(other_));
  SIM_EXPECT_OK(cuStreamSynchronize(stream_));
}

TEST_F(CaptureTest, InfoAndDependencies) {
  SIM_OK(cuStreamBeginCapture(stream_, kRelaxed));
  SIM_OK(Add(stream_, 1));
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  cuuint64_t id = 0;
  CUgraph graph = nullptr;
  const CUgraphNode* latest = nullptr;
  const CUgraphEdgeData* edges = nullptr;
  size_t count = 0;
  SIM_OK(cuStreamGetCaptureInfo(stream_, &status, &id, &graph, &latest, &edges, &count));
  EXPECT_EQ(status, CU_STREAM_CAPTURE_STATUS_ACTIVE);
  EXPECT_NE(id, 0u);
  ASSERT_EQ(count, 1u);
  EXPECT_EQ(edges[0].type, 0);
  const CUgraphNode first = latest[0];
  // A node of the program's own among the captured ones.
  CUgraphNode own = nullptr;
  SIM_OK(cuGraphAddEmptyNode(&own, graph, &first, 1));
  SIM_OK(cuStreamUpdateCaptureDependencies(stream_, &own, nullptr, 1,
                                           CU_STREAM_SET_CAPTURE_DEPENDENCIES));
  SIM_OK(Add(stream_, 2));
  EXPECT_EQ(cuGraphDestroy(graph), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGraphDestroyNode(first), CUDA_ERROR_INVALID_VALUE);
  CUgraph ended = nullptr;
  SIM_OK(cuStreamEndCapture(stream_, &ended));
  EXPECT_EQ(ended, graph);
  size_t dependents = 0;
  CUgraphNode dependent = nullptr;
  SIM_OK(cuGraphNodeGetDependentNodes(own, nullptr, nullptr, &dependents));
  EXPECT_EQ(dependents, 1u);
  SIM_OK(cuGraphNodeGetDependentNodes(own, &dependent, nullptr, &dependents));
  EXPECT_NE(dependent, first);
  Run(graph);
  EXPECT_EQ(ReadOne(words_), 3u);
  SIM_EXPECT_OK(cuGraphDestroy(graph));
}

TEST_F(CaptureTest, IntoAGraphThatIsThere) {
  CUgraph graph = nullptr;
  SIM_OK(cuGraphCreate(&graph, 0));
  const KernelNode node(add_, words_, kCaptureCount, Word{4});
  CUgraphNode first = nullptr;
  SIM_OK(cuGraphAddKernelNode(&first, graph, nullptr, 0, node.get()));
  SIM_OK(cuStreamBeginCaptureToGraph(stream_, graph, &first, nullptr, 1, kRelaxed));
  SIM_OK(Add(stream_, 8));
  CUgraph ended = nullptr;
  SIM_OK(cuStreamEndCapture(stream_, &ended));
  EXPECT_EQ(ended, graph);
  size_t edges = 0;
  SIM_OK(cuGraphGetEdges(graph, nullptr, nullptr, nullptr, &edges));
  EXPECT_EQ(edges, 1u);
  Run(graph);
  EXPECT_EQ(ReadOne(words_), 12u);
  SIM_EXPECT_OK(cuGraphDestroy(graph));
}

TEST_F(CaptureTest, CallbacksAndHostFunctions) {
  static std::atomic<int> calls{0};
  calls = 0;
  SIM_OK(cuStreamBeginCapture(stream_, kRelaxed));
  SIM_OK(cuLaunchHostFunc(
      stream_, [](void*) { ++calls; }, nullptr));
  CUgraph graph = nullptr;
  SIM_OK(cuStreamEndCapture(stream_, &graph));
  EXPECT_EQ(calls, 0);
  Run(graph);
  EXPECT_EQ(calls, 1);
  SIM_EXPECT_OK(cuGraphDestroy(graph));
  SIM_OK(cuStreamBeginCapture(stream_, kRelaxed));
  EXPECT_NE(cuStreamAddCallback(
                stream_, [](CUstream, CUresult, void*) { ++calls; }, nullptr, 0),
            CUDA_SUCCESS);
  CUgraph none = nullptr;
  EXPECT_EQ(cuStreamEndCapture(stream_, &none), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
}

TEST_F(CaptureTest, GraphLaunchesBecomeChildGraphs) {
  SIM_OK(cuStreamBeginCapture(stream_, kRelaxed));
  SIM_OK(Add(stream_, 3));
  CUgraph inner = nullptr;
  SIM_OK(cuStreamEndCapture(stream_, &inner));
  CUgraphExec exec = nullptr;
  SIM_OK(cuGraphInstantiate(&exec, inner, 0));
  SIM_OK(cuStreamBeginCapture(stream_, kRelaxed));
  SIM_OK(cuGraphLaunch(exec, stream_));
  SIM_OK(cuGraphLaunch(exec, stream_));
  CUgraph outer = nullptr;
  SIM_OK(cuStreamEndCapture(stream_, &outer));
  SIM_OK(cuGraphExecDestroy(exec));
  SIM_OK(cuGraphDestroy(inner));
  Run(outer);
  EXPECT_EQ(ReadOne(words_), 6u);
  SIM_EXPECT_OK(cuGraphDestroy(outer));
}

}  // namespace
}  // namespace simcuda
