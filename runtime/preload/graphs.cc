#include "runtime/preload/graphs.h"

#include <memory>
#include <utility>
#include <vector>

#include "runtime/base/mutex.h"
#include "runtime/preload/resolver.h"

namespace vramspan::preload::graphs {
namespace {

struct Registry {
  Mutex mu;
  // By handle, which may come again once the graph is destroyed: it is gone by then.
  absl::flat_hash_map<CUgraphExec, std::shared_ptr<SegmentedGraph>> graphs VS_GUARDED_BY(mu);
};
Registry& TheRegistry() {
  static Registry* registry = new Registry;  // Calls may come until the process is gone.
  return *registry;
}

std::shared_ptr<SegmentedGraph> Find(CUgraphExec exec) {
  Registry& registry = TheRegistry();
  MutexLock lock(registry.mu);
  const auto it = registry.graphs.find(exec);
  return it != registry.graphs.end() ? it->second : nullptr;
}

// A call that the program could make. None: the driver does not have it.
template <typename Watch, typename Function, typename... Args>
CUresult As(Watch watch, Function real, Args... args) {
  return real != nullptr ? watch(real, args...) : CUDA_ERROR_NOT_SUPPORTED;
}

}  // namespace

constinit std::atomic<int> segmented{0};

void Made(CUgraphExec exec, CUgraph graph, unsigned long long flags) {
  std::shared_ptr<SegmentedGraph> made = SegmentedGraph::Make(exec, graph, flags);
  if (made == nullptr && !Any()) return;
  Registry& registry = TheRegistry();
  std::shared_ptr<SegmentedGraph> before;
  MutexLock lock(registry.mu);
  const auto it = registry.graphs.find(exec);
  // Its handle came again, and nobody saw it go: what was made for it may be others' by now.
  if (it != registry.graphs.end()) {
    before = std::move(it->second);
    before->Abandon();
    registry.graphs.erase(it);
  }
  if (made != nullptr) registry.graphs[exec] = std::move(made);
  segmented.store(static_cast<int>(registry.graphs.size()), std::memory_order_release);
}

void Updated(CUgraphExec exec, CUgraph graph) {
  if (const auto found = Find(exec)) found->Update(graph);
}

void NodeSet(CUgraphExec exec, CUgraphNode node, absl::FunctionRef<CUresult(CUgraphNode)> set) {
  if (const auto found = Find(exec)) found->SetNode(node, set);
}

void StaysWhole(CUgraphExec exec) {
  if (const auto found = Find(exec)) found->StayWhole();
}

void Gone(CUgraphExec exec) {
  Registry& registry = TheRegistry();
  std::shared_ptr<SegmentedGraph> gone;
  MutexLock lock(registry.mu);
  const auto it = registry.graphs.find(exec);
  if (it == registry.graphs.end()) return;
  gone = std::move(it->second);
  registry.graphs.erase(it);
  segmented.store(static_cast<int>(registry.graphs.size()), std::memory_order_release);
}

void ForgetContext(CUcontext context) {
  if (!Any()) return;
  Registry& registry = TheRegistry();
  std::vector<std::shared_ptr<SegmentedGraph>> gone;
  MutexLock lock(registry.mu);
  absl::erase_if(registry.graphs, [&](const auto& graph) {
    if (graph.second->context() != context) return false;
    gone.push_back(graph.second);
    return true;
  });
  segmented.store(static_cast<int>(registry.graphs.size()), std::memory_order_release);
}

CUresult Launch(CUgraphExec exec, CUstream stream, SegmentedGraph::LaunchCall launch) {
  const std::shared_ptr<SegmentedGraph> found = Find(exec);
  return found != nullptr ? found->Launch(stream, launch) : launch(exec);
}

CUresult Set(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v1* params) {
  static const auto set =
      DriverFunction<decltype(&::cuGraphKernelNodeSetParams)>("cuGraphKernelNodeSetParams");
  return set != nullptr ? set(node, params) : CUDA_ERROR_NOT_SUPPORTED;
}
CUresult Set(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS* params) {
  static const auto set =
      DriverFunction<decltype(&::cuGraphKernelNodeSetParams_v2)>("cuGraphKernelNodeSetParams_v2");
  return set != nullptr ? set(node, params) : CUDA_ERROR_NOT_SUPPORTED;
}
// The driver looks up what these name.
CUresult Set(CUgraphNode node, const CUDA_MEMCPY3D* params) {
  static const auto set =
      DriverFunction<decltype(&::cuGraphMemcpyNodeSetParams)>("cuGraphMemcpyNodeSetParams");
  return As(VS_WATCHED(cuGraphMemcpyNodeSetParams), set, node, params);
}
CUresult Set(CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS* params) {
  static const auto set =
      DriverFunction<decltype(&::cuGraphMemsetNodeSetParams)>("cuGraphMemsetNodeSetParams");
  return As(VS_WATCHED(cuGraphMemsetNodeSetParams), set, node, params);
}
CUresult Set(CUgraphNode node, const CUDA_BATCH_MEM_OP_NODE_PARAMS* params) {
  static const auto set =
      DriverFunction<decltype(&::cuGraphBatchMemOpNodeSetParams)>("cuGraphBatchMemOpNodeSetParams");
  return set != nullptr ? set(node, params) : CUDA_ERROR_NOT_SUPPORTED;
}
CUresult Set(CUgraphNode node, CUgraphNodeParams* params) {
  static const auto set = DriverFunction<decltype(&::cuGraphNodeSetParams)>("cuGraphNodeSetParams");
  return As(VS_WATCHED(cuGraphNodeSetParams), set, node, params);
}

}  // namespace vramspan::preload::graphs
