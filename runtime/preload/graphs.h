// Hooks of the calls that make, change, launch and end executable graphs: the runtime is told of
// them, and what does not fit is launched in segments (segmented_graph.h). A launch costs one load
// more where the program has no such graph.
#ifndef VRAMSPAN_RUNTIME_PRELOAD_GRAPHS_H_
#define VRAMSPAN_RUNTIME_PRELOAD_GRAPHS_H_

#include <absl/functional/function_ref.h>

#include <atomic>
#include <string_view>
#include <type_traits>

#include "runtime/preload/launch.h"
#include "runtime/preload/pools.h"
#include "runtime/preload/segmented_graph.h"

namespace vramspan::preload::graphs {

// How many executable graphs may come to be cut.
extern std::atomic<int> segmented;
inline bool Any() { return segmented.load(std::memory_order_acquire) != 0; }

void Made(CUgraphExec exec, CUgraph graph, unsigned long long flags);
void Updated(CUgraphExec exec, CUgraph graph);
void NodeSet(CUgraphExec exec, CUgraphNode node, absl::FunctionRef<CUresult(CUgraphNode)> set);
void StaysWhole(CUgraphExec exec);
void Gone(CUgraphExec exec);
// The context ends, and with it what was instantiated in it. Before it does.
void ForgetContext(CUcontext context);
CUresult Launch(CUgraphExec exec, CUstream stream, SegmentedGraph::LaunchCall launch);

// What the program has done to one node of an executable graph, to a node of a graph.
CUresult Set(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v1* params);
CUresult Set(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS* params);
CUresult Set(CUgraphNode node, const CUDA_MEMCPY3D* params);
CUresult Set(CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS* params);
CUresult Set(CUgraphNode node, const CUDA_BATCH_MEM_OP_NODE_PARAMS* params);
CUresult Set(CUgraphNode node, CUgraphNodeParams* params);

template <typename P>
void NoteMade(const P& p) {
  unsigned long long flags = 0;
  if constexpr (requires { p.flags; }) {
    flags = p.flags;
  } else if constexpr (requires { p.instantiateParams; }) {
    flags = p.instantiateParams->flags;
  }
  Made(*p.phGraphExec, p.hGraph, flags);
}

template <typename P>
void NoteNodeSet(const P& p) {
  NodeSet(p.hGraphExec, p.hNode, [&](CUgraphNode node) {
    if constexpr (requires { p.nodeParams; }) {
      return Set(node, p.nodeParams);
    } else if constexpr (requires { p.copyParams; }) {
      return Set(node, p.copyParams);
    } else if constexpr (requires { p.memsetParams; }) {
      return Set(node, p.memsetParams);
    } else {
      return CUDA_ERROR_NOT_SUPPORTED;  // A child graph.
    }
  });
}

template <bool kPerThread, uint32_t kCall, typename Params, typename Function>
struct Hook;
template <bool kPerThread, uint32_t kCall, typename Params, typename... Args>
struct Hook<kPerThread, kCall, Params, CUresult (*)(Args...)> {
  using Function = CUresult (*)(Args...);
  using Watch = Watched<kCall, Params, Function>;

  static CUresult Call(Function real, Args... args) {
    if constexpr (std::is_invocable_v<Function, CUgraphExec, CUstream>) {
      return CallLaunch(real, args...);
    } else if constexpr (std::is_invocable_v<Function, CUgraphExec>) {
      if (Any()) Gone(args...);
      return Watch::Call(real, args...);
    } else {
      const CUresult result = Watch::Call(real, args...);
      if (result == CUDA_SUCCESS) Note(Params{args...});
      return result;
    }
  }

 private:
  static void Note(const Params& p) {
    if constexpr (requires { p.phGraphExec; }) {
      NoteMade(p);
    } else if (Any()) {
      if constexpr (requires { p.hNode; }) {
        NoteNodeSet(p);
      } else {
        Updated(p.hGraphExec, p.hGraph);
      }
    }
  }
  static CUresult CallLaunch(Function real, CUgraphExec exec, CUstream stream) {
    NoteGraphLaunch();
    if (!Any()) [[likely]]
      return Watch::Call(real, exec, stream);
    const bool own = kPerThread && stream == nullptr;
    return Launch(exec, own ? CU_STREAM_PER_THREAD : stream,
                  [&](CUgraphExec each) { return Watch::Call(real, each, stream); });
  }
};

// A change of an executable graph that nobody needs to be told of, and no copy can be given.
template <typename Function>
struct Changing;
template <typename... Args>
struct Changing<CUresult (*)(CUgraphExec, Args...)> {
  using Function = CUresult (*)(CUgraphExec, Args...);
  static CUresult Call(Function real, CUgraphExec exec, Args... args) {
    const CUresult result = real(exec, args...);
    if (result == CUDA_SUCCESS && Any()) StaysWhole(exec);
    return result;
  }
};

#define VS_GRAPH_WATCHED(symbol)                                                               \
  graphs::Hook<std::string_view(#symbol).ends_with("_ptsz"), CUPTI_DRIVER_TRACE_CBID_##symbol, \
               struct symbol##_params_st, decltype(&::symbol)>::Call
#define VS_GRAPH_CHANGED(symbol) graphs::Changing<decltype(&::symbol)>::Call

}  // namespace vramspan::preload::graphs

#endif  // VRAMSPAN_RUNTIME_PRELOAD_GRAPHS_H_
