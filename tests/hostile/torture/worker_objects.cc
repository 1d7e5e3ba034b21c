// Streams, events, other threads, graphs, and how threads and slots begin and end.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <shared_mutex>
#include <thread>

#include "tests/hostile/torture/worker.h"

namespace torture {
namespace {

constexpr size_t kMostPassed = 16;
constexpr auto kChildPatience = std::chrono::seconds(20);

}  // namespace

void Worker::MakeSlot() {
  MUST(cuCtxSetCurrent(program_.context));
  s_.lanes[kOwn] = CU_STREAM_PER_THREAD;
  MUST(cuStreamCreate(&s_.lanes[kCaptured], CU_STREAM_NON_BLOCKING));
  MUST(cuStreamCreate(&s_.lanes[2], CU_STREAM_DEFAULT));
  MUST(cuStreamCreateWithPriority(&s_.lanes[3], CU_STREAM_NON_BLOCKING, -1));
  MUST(cuEventCreate(&s_.left, CU_EVENT_DISABLE_TIMING));
  MUST(cuEventCreate(&s_.order, CU_EVENT_DISABLE_TIMING));
  MUST(cuEventCreate(&s_.copied, CU_EVENT_DEFAULT));
  void* words = nullptr;
  MUST(cuMemHostAlloc(&words, kBufferCells * kCellBytes, 0));
  s_.buffer = static_cast<Word*>(words);
  MUST(cuMemHostAlloc(&words, 4096, CU_MEMHOSTALLOC_DEVICEMAP));
  s_.answers = static_cast<Word*>(words);
  MUST(cuMemHostGetDevicePointer(&s_.answers_address, words, 0));
}

void Worker::Begin() {
  MUST(cuCtxSetCurrent(program_.context));
  const int lane = 1 + static_cast<int>(Pick(kLanes - 1));
  MUST(cuStreamWaitEvent(s_.lanes[lane], s_.left, 0));
  for (Array& a : s_.arrays) {
    if (a.lane == kOwn) a.lane = lane;
  }
}

void Worker::End() {
  if (!s_.arrays.empty() && Pick(2) == 0) {
    Array& a = Some();
    Order(StreamOf(a), CU_STREAM_PER_THREAD);
    a.lane = kOwn;
    AddSlowly(a);
  }
  MUST(cuEventRecord(s_.left, CU_STREAM_PER_THREAD));
  if (!program_.options.lax) MUST(cuStreamSynchronize(CU_STREAM_PER_THREAD));
}

void Worker::FreeSlot() {
  while (!s_.arrays.empty()) Free(s_.arrays.size() - 1);
  for (int lane = 1; lane < kLanes; ++lane) MUST(cuStreamDestroy(s_.lanes[lane]));
  for (const CUevent event : {s_.left, s_.order, s_.copied}) MUST(cuEventDestroy(event));
  DropPool();
  SynchronizeContext();
  MUST(cuMemFreeHost(s_.buffer));
  MUST(cuMemFreeHost(s_.answers));
  s_ = {};
}

void Worker::Abandon() {
  for (size_t i = s_.arrays.size(); i > 0; --i) {
    if (s_.arrays[i - 1].kind != Kind::kPlain) Free(i - 1);
  }
  DropPool();
  ReadAnswers();
  for (int i = 0; i < 50 && !s_.arrays.empty(); ++i) Add(Some());
  // The context's, all of it, host memory too.
  s_.arrays.clear();
}

void Worker::ChangeLane(Array& a) {
  const int next = static_cast<int>(Pick(kLanes));
  Order(StreamOf(a), s_.lanes[next]);
  a.lane = next;
}

// A stream ends with its work under way, and another takes its place.
void Worker::RemakeLane() {
  CUstream& lane = s_.lanes[1 + Pick(kLanes - 1)];
  CUstream next = nullptr;
  const unsigned flags = &lane == &s_.lanes[2] ? CU_STREAM_DEFAULT : CU_STREAM_NON_BLOCKING;
  if (!Done(program_, cuStreamCreate(&next, flags), "cuStreamCreate")) return;
  Order(lane, next);
  MUST(cuStreamDestroy(lane));
  lane = next;
}

void Worker::Wait() {
  CUstream lane = s_.lanes[Pick(kLanes)];
  switch (Pick(6)) {
    case 0:
      return MUST(cuStreamSynchronize(lane));
    case 1: {
      const CUresult r = cuStreamQuery(lane);
      if (r != CUDA_ERROR_NOT_READY) Done(program_, r, "cuStreamQuery");
      return;
    }
    case 2: {
      const CUresult r = cuEventQuery(s_.copied);
      if (r != CUDA_ERROR_NOT_READY) Done(program_, r, "cuEventQuery");
      return;
    }
    case 3: {
      CUevent event = nullptr;
      MUST(cuEventCreate(&event, CU_EVENT_BLOCKING_SYNC));
      MUST(cuEventRecord(event, lane));
      if (Pick(2) == 0) MUST(cuEventSynchronize(event));
      return MUST(cuEventDestroy(event));
    }
    case 4: {
      size_t free = 0, total = 0;
      return MUST(cuMemGetInfo(&free, &total));
    }
    default:
      if (Pick(10) == 0) SynchronizeContext();
  }
}

// An array, with what it is given still to do, for another thread.
void Worker::Give() {
  const size_t i = Pick(s_.arrays.size());
  Passed passed;
  {
    const std::lock_guard<std::mutex> lock(program_.mu);
    if (program_.passed.size() >= kMostPassed) return;
  }
  MUST(cuEventCreate(&passed.behind, CU_EVENT_DISABLE_TIMING));
  MUST(cuEventRecord(passed.behind, StreamOf(s_.arrays[i])));
  std::swap(s_.arrays[i], s_.arrays.back());
  passed.array = std::move(s_.arrays.back());
  s_.arrays.pop_back();
  const std::lock_guard<std::mutex> lock(program_.mu);
  program_.passed.push_back(std::move(passed));
}

void Worker::Take() {
  Passed passed;
  {
    const std::lock_guard<std::mutex> lock(program_.mu);
    if (program_.passed.empty()) return;
    std::swap(program_.passed[Pick(program_.passed.size())], program_.passed.back());
    passed = std::move(program_.passed.back());
    program_.passed.pop_back();
  }
  passed.array.lane = static_cast<int>(Pick(kLanes));
  MUST(cuStreamWaitEvent(StreamOf(passed.array), passed.behind, 0));
  MUST(cuEventDestroy(passed.behind));
  s_.arrays.push_back(std::move(passed.array));
}

// A child that ends at once, in one of the ways in which children do.
void Worker::Fork() {
  if (!program_.options.forks) return;
  const uint64_t way = program_.options.lax ? Pick(3) : 1 + Pick(2);
  const pid_t child = fork();
  if (child < 0) return;
  if (child == 0) {
    if (way == 0) std::exit(0);
    if (way == 1) execl("/bin/true", "true", nullptr);
    _exit(0);
  }
  const auto begin = std::chrono::steady_clock::now();
  int status = 0;
  while (waitpid(child, &status, WNOHANG) == 0) {
    if (std::chrono::steady_clock::now() - begin > kChildPatience) {
      throw Failure{"a child hangs in " + std::string(way == 0 ? "exit" : "_exit or exec")};
    }
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) throw Failure{"a child did not end well"};
}

bool Worker::MakeGraph(Array& a) {
  Graph& g = a.graph;
  const Slice c = SomeCells(a);
  g.at = c.at;
  g.cells = c.cells;
  g.value = Pick(1000) + 1;
  CUdeviceptr words = a.CellAt(c.at);
  size_t count = c.cells * kCellWords;
  void* parameters[] = {&words, &count, &g.value};
  CUDA_KERNEL_NODE_PARAMS node{};
  node.func = program_.add_constant;
  node.gridDimX = static_cast<unsigned>((count + 255) / 256);
  node.gridDimY = node.gridDimZ = node.blockDimY = node.blockDimZ = 1;
  node.blockDimX = 256;
  node.kernelParams = parameters;
  MUST(cuGraphCreate(&g.source, 0));
  MUST(cuGraphAddKernelNode(&g.node, g.source, nullptr, 0, &node));
  if (Done(program_, cuGraphInstantiate(&g.exec, g.source, 0), "cuGraphInstantiate", true)) {
    return true;
  }
  g.exec = nullptr;
  DropGraph(a);
  return false;
}

// Other cells and another value, in the graph that was made already.
void Worker::UpdateGraph(Array& a) {
  Graph& g = a.graph;
  const Slice c = CellsUpTo(a, g.cells);
  Word value = Pick(1000) + 1;
  CUdeviceptr words = a.CellAt(c.at);
  size_t count = c.cells * kCellWords;
  void* parameters[] = {&words, &count, &value};
  CUDA_KERNEL_NODE_PARAMS node{};
  node.func = program_.add_constant;
  node.gridDimX = static_cast<unsigned>((count + 255) / 256);
  node.gridDimY = node.gridDimZ = node.blockDimY = node.blockDimZ = 1;
  node.blockDimX = 256;
  node.kernelParams = parameters;
  if (Pick(2) == 0) {
    MUST(cuGraphExecKernelNodeSetParams(g.exec, g.node, &node));
  } else {
    MUST(cuGraphKernelNodeSetParams(g.node, &node));
    CUgraphExecUpdateResultInfo info{};
    MUST(cuGraphExecUpdate(g.exec, g.source, &info));
  }
  g.at = c.at;
  g.cells = c.cells;
  g.value = value;
}

void Worker::LaunchGraph(Array& a) {
  if (!program_.options.graphs) return;
  if (a.graph.exec == nullptr && !MakeGraph(a)) return;
  if (Pick(4) == 0) UpdateGraph(a);
  const Slice c{a.graph.at, a.graph.cells};
  if (!Done(program_, cuGraphLaunch(a.graph.exec, StreamOf(a)), "cuGraphLaunch")) {
    return Forget(a, c);
  }
  for (size_t i = 0; i < c.cells; ++i) a.content[c.at + i].add += a.graph.value;
}

// A launch of it may still be under way.
void Worker::DropGraph(Array& a) {
  if (a.graph.source == nullptr) return;
  if (a.graph.exec != nullptr) MUST(cuGraphExecDestroy(a.graph.exec));
  MUST(cuGraphDestroy(a.graph.source));
  a.graph = {};
}

// A few things captured and launched as a graph that is gone afterwards.
void Worker::Capture(Array& a) {
  if (!program_.options.graphs) return;
  const CUstream stream = s_.lanes[kCaptured];
  const Slice c = SomeCells(a);
  CUdeviceptr words = a.CellAt(c.at);
  size_t count = c.cells * kCellWords;
  Word value = Pick(1000) + 1, seed = s_.random();
  const bool fills = Pick(2) == 0;
  void* fill[] = {&words, &count, &seed};
  void* add[] = {&words, &count, &value};
  CUgraph graph = nullptr;
  CUgraphExec exec = nullptr;
  std::shared_lock<std::shared_mutex> lock(program_.capturing);
  MUST(cuStreamBeginCapture(
      stream, Pick(2) == 0 ? CU_STREAM_CAPTURE_MODE_THREAD_LOCAL : CU_STREAM_CAPTURE_MODE_RELAXED));
  const unsigned blocks = static_cast<unsigned>((count + 255) / 256);
  bool right = !fills || Done(program_,
                              cuLaunchKernel(program_.fill_hash, blocks, 1, 1, 256, 1, 1, 0, stream,
                                             fill, nullptr),
                              "cuLaunchKernel, captured");
  right =
      Done(program_,
           cuLaunchKernel(program_.add_constant, blocks, 1, 1, 256, 1, 1, 0, stream, add, nullptr),
           "cuLaunchKernel, captured") &&
      right;
  MUST(cuStreamEndCapture(stream, &graph));
  lock.unlock();
  Order(StreamOf(a), stream);
  right = right && Done(program_, cuGraphInstantiate(&exec, graph, 0), "cuGraphInstantiate", true);
  if (right && Done(program_, cuGraphLaunch(exec, stream), "cuGraphLaunch")) {
    if (fills) Know(a, c, {.seed = seed});
    for (size_t i = 0; i < c.cells; ++i) a.content[c.at + i].add += value;
  } else {
    Forget(a, c);
  }
  Order(stream, StreamOf(a));
  if (exec != nullptr) MUST(cuGraphExecDestroy(exec));
  MUST(cuGraphDestroy(graph));
}

}  // namespace torture
