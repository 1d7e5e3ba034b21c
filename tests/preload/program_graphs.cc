// Executable graphs of twice the device's memory, in all ways in which programs launch and change
// them. What they do depends on its order, and is done on the host as well.
#include <cudaTypedefs.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <iterator>
#include <string>
#include <vector>

#include "tests/preload/program_calls.h"

namespace {

using Count = unsigned long long;

constexpr size_t kBuffers = 24;
constexpr size_t kAtFirst = 5;  // Which fit, and are more than half of what does.
constexpr size_t kBytes = 4 << 20;
constexpr size_t kWords = kBytes / sizeof(Count);
constexpr size_t kCopied = kBytes / 2;  // The first half of a buffer.

// What each half of each buffer holds.
struct Model {
  std::vector<Count> first = std::vector<Count>(kBuffers), second = first;

  void Add(size_t i, Count value) {
    first[i] += value;
    second[i] += value;
  }
  void Copy(size_t to, size_t from) { first[to] = first[from]; }
  void Fill(size_t i) { second[i] = 0; }
};

struct Step {
  enum class Kind { kAdd, kCopy, kFill } kind;
  size_t at = 0;
  size_t from = 0;
  Count value = 0;
};

// Each buffer is added to, and takes half of the one before it; some are emptied now and then.
std::vector<Step> Steps(Count value, size_t buffers = kBuffers) {
  std::vector<Step> steps;
  for (size_t i = 0; i < buffers; ++i) {
    steps.push_back({Step::Kind::kAdd, i, 0, value + i});
    if (i != 0) steps.push_back({Step::Kind::kCopy, i, i - 1, 0});
    if (i % 5 == 0) steps.push_back({Step::Kind::kFill, i, 0, 0});
  }
  // The next launch begins where this one ends.
  steps.push_back({Step::Kind::kCopy, 0, buffers - 1, 0});
  return steps;
}

void Run(const std::vector<Step>& steps, Model* model) {
  for (const Step& step : steps) {
    if (step.kind == Step::Kind::kAdd) model->Add(step.at, step.value);
    if (step.kind == Step::Kind::kCopy) model->Copy(step.at, step.from);
    if (step.kind == Step::Kind::kFill) model->Fill(step.at);
  }
}

class CutGraphs {
 public:
  explicit CutGraphs(Program* p, size_t buffers = kBuffers) : p_(*p) {
    p_.Start();
    Grow(buffers);
    CHECK_OK(p_.api.CtxSynchronize());
    for (CUstream& s : streams_) CHECK_OK(p_.api.StreamCreate(&s, CU_STREAM_NON_BLOCKING));
  }

  // So many buffers, those from before among them.
  void Grow(size_t buffers) {
    for (size_t i = 0; i < buffers; ++i) {
      if (buffers_[i] != 0) continue;
      CHECK_OK(p_.api.MemAlloc(&buffers_[i], kBytes));
      CHECK_OK(p_.api.MemsetD8(buffers_[i], 0, kBytes));
    }
  }
  CUstream NextStream() { return streams_[next_++ % std::size(streams_)]; }

  void AddNode(CUgraph graph, const Step& step, std::vector<CUgraphNode>* nodes) {
    CUgraphNode node = nullptr;
    // On the one before, and on an earlier one.
    std::vector<CUgraphNode> on;
    if (!nodes->empty()) on.push_back(nodes->back());
    if (nodes->size() > 7) on.push_back((*nodes)[nodes->size() - 7]);
    switch (step.kind) {
      case Step::Kind::kAdd: {
        const CUDA_KERNEL_NODE_PARAMS params = Kernel(step);
        CHECK_OK(GET(cuGraphAddKernelNode, "cuGraphAddKernelNode_v2")(&node, graph, on.data(),
                                                                      on.size(), &params));
        break;
      }
      case Step::Kind::kCopy: {
        const CUDA_MEMCPY3D params = Copy(step);
        CHECK_OK(GET(cuGraphAddMemcpyNode, "cuGraphAddMemcpyNode")(&node, graph, on.data(),
                                                                   on.size(), &params, p_.context));
        break;
      }
      case Step::Kind::kFill: {
        const CUDA_MEMSET_NODE_PARAMS params = Fill(step);
        CHECK_OK(GET(cuGraphAddMemsetNode, "cuGraphAddMemsetNode")(&node, graph, on.data(),
                                                                   on.size(), &params, p_.context));
        break;
      }
    }
    nodes->push_back(node);
  }
  CUgraph Make(const std::vector<Step>& steps, std::vector<CUgraphNode>* nodes) {
    CUgraph graph = nullptr;
    CHECK_OK(GET(cuGraphCreate, "cuGraphCreate")(&graph, 0));
    nodes->clear();
    for (const Step& step : steps) AddNode(graph, step, nodes);
    return graph;
  }
  static CUgraphExec Instantiate(CUgraph graph) {
    CUgraphExec exec = nullptr;
    const auto make = Get<PFN_cuGraphInstantiateWithFlags_v11040>("cuGraphInstantiateWithFlags");
    CHECK_OK(make(&exec, graph, 0));
    return exec;
  }
  static void Destroy(CUgraph graph) { CHECK_OK(GET(cuGraphDestroy, "cuGraphDestroy")(graph)); }
  static void Destroy(CUgraphExec exec) {
    CHECK_OK(GET(cuGraphExecDestroy, "cuGraphExecDestroy")(exec));
  }
  // Each launch in the next stream: they do not wait for each other, but one graph's launches do.
  void Launch(CUgraphExec exec, const std::vector<Step>& steps, int times) {
    for (int i = 0; i < times; ++i) {
      CHECK_OK(GET(cuGraphLaunch, "cuGraphLaunch")(exec, NextStream()));
      Run(steps, &model_);
    }
  }
  void Check(const char* after) {
    CHECK_OK(p_.api.CtxSynchronize());
    std::vector<Count> words(kWords);
    for (size_t i = 0; i < kBuffers; ++i) {
      CHECK_OK(p_.api.MemcpyDtoH(words.data(), buffers_[i], kBytes));
      for (size_t w = 0; w < kWords; ++w) {
        const Count right = w < kWords / 2 ? model_.first[i] : model_.second[i];
        if (words[w] == right) continue;
        Fail("after " + std::string(after) + ": buffer " + std::to_string(i) + " word " +
             std::to_string(w) + " is " + std::to_string(words[w]) + ", not " +
             std::to_string(right));
      }
    }
    std::printf("%s\n", after);
  }

  CUDA_KERNEL_NODE_PARAMS Kernel(const Step& step) {
    words_ = buffers_[step.at];
    count_ = kWords;
    value_ = step.value;
    CUDA_KERNEL_NODE_PARAMS params{};
    params.func = p_.add_constant;
    params.gridDimX = 16;
    params.gridDimY = params.gridDimZ = 1;
    params.blockDimX = 64;
    params.blockDimY = params.blockDimZ = 1;
    params.kernelParams = params_;
    return params;
  }
  CUDA_MEMCPY3D Copy(const Step& step) const {
    CUDA_MEMCPY3D copy{};
    copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    copy.srcDevice = buffers_[step.from];
    copy.dstDevice = buffers_[step.at];
    copy.WidthInBytes = kCopied;
    copy.Height = copy.Depth = 1;
    return copy;
  }
  CUDA_MEMSET_NODE_PARAMS Fill(const Step& step) const {
    CUDA_MEMSET_NODE_PARAMS fill{};
    fill.dst = buffers_[step.at] + kCopied;
    fill.elementSize = fill.height = 1;
    fill.width = kBytes - kCopied;
    return fill;
  }
  // The steps after a change of each kind of node, made to `exec`.
  std::vector<Step> SetNodes(CUgraphExec exec, const std::vector<CUgraphNode>& nodes,
                             std::vector<Step> steps, size_t shift) {
    for (size_t i = shift; i < steps.size(); i += 7) {
      Step& step = steps[i];
      if (step.kind == Step::Kind::kAdd) {
        step.value += 1000;
        const CUDA_KERNEL_NODE_PARAMS params = Kernel(step);
        CHECK_OK(GET(cuGraphExecKernelNodeSetParams, "cuGraphExecKernelNodeSetParams_v2")(
            exec, nodes[i], &params));
      } else if (step.kind == Step::Kind::kCopy) {
        step.from = (step.from + 3) % kAtFirst;
        if (step.from == step.at) step.from = (step.from + 1) % kAtFirst;
        const CUDA_MEMCPY3D params = Copy(step);
        CHECK_OK(GET(cuGraphExecMemcpyNodeSetParams, "cuGraphExecMemcpyNodeSetParams")(
            exec, nodes[i], &params, p_.context));
      } else {
        step.at = (step.at + 3) % kAtFirst;
        const CUDA_MEMSET_NODE_PARAMS params = Fill(step);
        CHECK_OK(GET(cuGraphExecMemsetNodeSetParams, "cuGraphExecMemsetNodeSetParams")(
            exec, nodes[i], &params, p_.context));
      }
    }
    return steps;
  }

  Program& p_;
  Model model_;

 private:
  CUdeviceptr buffers_[kBuffers] = {};
  CUstream streams_[2] = {};
  size_t next_ = 0;
  CUdeviceptr words_ = 0;
  size_t count_ = 0;
  Count value_ = 0;
  void* params_[3] = {&words_, &count_, &value_};
};

void LaunchAndSet(CutGraphs* g) {
  std::vector<CUgraphNode> nodes;
  std::vector<Step> steps = Steps(1);
  const CUgraph graph = g->Make(steps, &nodes);
  const CUgraphExec exec = CutGraphs::Instantiate(graph);
  g->Launch(exec, steps, 5);
  g->Check("launches");
  for (const size_t shift : {0, 1, 2, 3, 4, 5, 6}) {
    steps = g->SetNodes(exec, nodes, steps, shift);
    g->Launch(exec, steps, 2);
  }
  g->Check("nodes that were set");
  CutGraphs::Destroy(exec);
  CutGraphs::Destroy(graph);
}

void Update(CutGraphs* g) {
  std::vector<CUgraphNode> nodes;
  std::vector<Step> steps = Steps(1);
  CUgraph graph = g->Make(steps, &nodes);
  const CUgraphExec exec = CutGraphs::Instantiate(graph);
  CutGraphs::Destroy(graph);  // What was made of it stays.
  g->Launch(exec, steps, 2);
  for (const Count value : {20, 300, 4000}) {
    steps = Steps(value);
    graph = g->Make(steps, &nodes);
    CUgraphExecUpdateResultInfo info{};
    CHECK_OK(GET(cuGraphExecUpdate, "cuGraphExecUpdate_v2")(exec, graph, &info));
    CutGraphs::Destroy(graph);
    g->Launch(exec, steps, 3);
  }
  g->Check("updates");
  CutGraphs::Destroy(exec);
}

void SwitchOff(CutGraphs* g) {
  std::vector<CUgraphNode> nodes;
  std::vector<Step> steps = Steps(7);
  const CUgraph graph = g->Make(steps, &nodes);
  const CUgraphExec exec = CutGraphs::Instantiate(graph);
  g->Launch(exec, steps, 2);
  CHECK_OK(GET(cuGraphNodeSetEnabled, "cuGraphNodeSetEnabled")(exec, nodes[9], 0));
  steps.erase(steps.begin() + 9);
  g->Launch(exec, steps, 3);
  g->Check("a node that was switched off");
  CutGraphs::Destroy(exec);
  CutGraphs::Destroy(graph);
}

void CUDA_CB CountUp(void* count) { ++*static_cast<std::atomic<int>*>(count); }

void CallHost(CutGraphs* g) {
  std::vector<CUgraphNode> nodes;
  const std::vector<Step> steps = Steps(3);
  const CUgraph graph = g->Make(steps, &nodes);
  std::atomic<int> first{0}, second{0};
  CUDA_HOST_NODE_PARAMS params{&CountUp, &first};
  CUgraphNode host = nullptr;
  CHECK_OK(GET(cuGraphAddHostNode, "cuGraphAddHostNode")(&host, graph, &nodes.back(), 1, &params));
  const CUgraphExec exec = CutGraphs::Instantiate(graph);
  g->Launch(exec, steps, 3);
  CHECK_OK(g->p_.api.CtxSynchronize());
  CHECK(first == 3);
  params.userData = &second;
  CHECK_OK(GET(cuGraphExecHostNodeSetParams, "cuGraphExecHostNodeSetParams")(exec, host, &params));
  g->Launch(exec, steps, 2);
  g->Check("host functions");
  CHECK(first == 3 && second == 2);
  CutGraphs::Destroy(exec);
  CutGraphs::Destroy(graph);
}

}  // namespace

void LaunchLargeGraphs(Program* p) {
  CutGraphs g(p);
  LaunchAndSet(&g);
  Update(&g);
  SwitchOff(&g);
  CallHost(&g);
}

// The graph was launched while all fitted, and waits; then memory is short, and it is launched in
// another stream.
void LaunchAsMemoryGetsShort(Program* p) {
  CutGraphs g(p, kAtFirst);
  unsigned* flag = nullptr;
  CHECK_OK(p->api.MemHostAlloc(reinterpret_cast<void**>(&flag), 4096, CU_MEMHOSTALLOC_DEVICEMAP));
  __atomic_store_n(flag, 0, __ATOMIC_RELEASE);
  std::vector<CUgraphNode> nodes;
  std::vector<Step> steps = Steps(1, kAtFirst);
  const CUgraph graph = g.Make(steps, &nodes);
  const CUgraphExec exec = CutGraphs::Instantiate(graph);
  g.Launch(exec, steps, 1);
  CHECK_OK(GET(cuStreamWaitValue32, "cuStreamWaitValue32_v2")(
      g.NextStream(), reinterpret_cast<CUdeviceptr>(flag), 1, CU_STREAM_WAIT_VALUE_EQ));
  g.NextStream();
  g.Launch(exec, steps, 1);
  g.Grow(kBuffers);
  for (size_t shift = 0; shift < 7; ++shift) steps = g.SetNodes(exec, nodes, steps, shift);
  const CUstream other = g.NextStream();
  g.NextStream();
  g.Launch(exec, steps, 1);
  g.NextStream();
  g.Launch(exec, steps, 1);
  // It may not end before the first has, however long that is waited for.
  const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(300);
  while (std::chrono::steady_clock::now() < until) {
    CHECK(GET(cuStreamQuery, "cuStreamQuery")(other) == CUDA_ERROR_NOT_READY);
    usleep(1000);
  }
  __atomic_store_n(flag, 1, __ATOMIC_RELEASE);
  g.Check("memory got short");
  CutGraphs::Destroy(exec);
  CutGraphs::Destroy(graph);
}

// One graph, so often that both ways of launching it are tried, and one of them stays. Now and then
// a node of it changes.
void LaunchOneGraphOften(Program* p) {
  CutGraphs g(p);
  std::vector<CUgraphNode> nodes;
  std::vector<Step> steps = Steps(3);
  const CUgraph graph = g.Make(steps, &nodes);
  const CUgraphExec exec = CutGraphs::Instantiate(graph);
  for (size_t round = 0; round < 20; ++round) {
    if (round % 8 == 3) steps = g.SetNodes(exec, nodes, steps, round % 7);
    g.Launch(exec, steps, 2);
    if (round % 3 != 2) g.Check("launched often");
  }
  g.Check("launched often");
  CutGraphs::Destroy(exec);
  CutGraphs::Destroy(graph);
}

// The context ends under graphs that nobody has destroyed; handles come again in the next.
void LaunchAcrossContexts(Program* p) {
  for (int i = 0; i < 3; ++i) {
    CutGraphs g(p);
    std::vector<CUgraphNode> nodes;
    const std::vector<Step> steps = Steps(5);
    const CUgraph graph = g.Make(steps, &nodes);
    const CUgraphExec exec = CutGraphs::Instantiate(graph);
    g.Launch(exec, steps, 3);
    g.Check("a context");
    CutGraphs::Destroy(graph);
    CHECK_OK(p->api.PrimaryReset(p->device));
  }
}
