#include <cudaTypedefs.h>

#include "tests/preload/program_calls.h"

namespace {

// A graph of one node, and the parameters that the node has with one address or another.
class Graphs {
 public:
  explicit Graphs(Caller* c) : c_(*c) {}

  enum class Node { kKernel, kCopy, kFill, kMemOp, kChild };

  // A call that submits nothing, and then the graph as it is from there on.
  void Call(const std::string& name, const std::function<CUresult()>& call, CUgraphExec exec,
            Told told) {
    c_.Call(name, Told::kNothing, call);
    c_.Call(name + ", cuGraphLaunch", told, [&] { return Launch(exec); });
  }
  CUresult Launch(CUgraphExec exec) const {
    return GET(cuGraphLaunch, "cuGraphLaunch")(exec, c_.stream());
  }

  CUgraph Make(Node kind, CUdeviceptr at, CUgraphNode* node) {
    CUgraph graph = nullptr;
    CHECK_OK(GET(cuGraphCreate, "cuGraphCreate")(&graph, 0));
    switch (kind) {
      case Node::kKernel: {
        const CUDA_KERNEL_NODE_PARAMS params = Kernel(at);
        CHECK_OK(
            GET(cuGraphAddKernelNode, "cuGraphAddKernelNode_v2")(node, graph, nullptr, 0, &params));
        break;
      }
      case Node::kCopy: {
        const CUDA_MEMCPY3D params = CopyNode(at);
        CHECK_OK(GET(cuGraphAddMemcpyNode, "cuGraphAddMemcpyNode")(node, graph, nullptr, 0, &params,
                                                                   c_.p().context));
        break;
      }
      case Node::kFill: {
        const CUDA_MEMSET_NODE_PARAMS params = FillNode(at);
        CHECK_OK(GET(cuGraphAddMemsetNode, "cuGraphAddMemsetNode")(node, graph, nullptr, 0, &params,
                                                                   c_.p().context));
        break;
      }
      case Node::kMemOp: {
        const CUDA_BATCH_MEM_OP_NODE_PARAMS params = MemOp(at);
        CHECK_OK(GET(cuGraphAddBatchMemOpNode, "cuGraphAddBatchMemOpNode")(node, graph, nullptr, 0,
                                                                           &params));
        break;
      }
      case Node::kChild: {
        CUgraphNode inner = nullptr;
        CUgraph child = Make(Node::kKernel, at, &inner);
        CHECK_OK(GET(cuGraphAddChildGraphNode, "cuGraphAddChildGraphNode")(node, graph, nullptr, 0,
                                                                           child));
        Destroy(child);
        break;
      }
    }
    return graph;
  }
  CUgraph Make(Node kind, CUdeviceptr at) {
    CUgraphNode node = nullptr;
    return Make(kind, at, &node);
  }
  static void Destroy(CUgraph graph) { CHECK_OK(GET(cuGraphDestroy, "cuGraphDestroy")(graph)); }
  static void Destroy(CUgraphExec exec) {
    CHECK_OK(GET(cuGraphExecDestroy, "cuGraphExecDestroy")(exec));
  }
  static CUgraphExec Instantiate(CUgraph graph) {
    CUgraphExec exec = nullptr;
    CHECK_OK(Get<PFN_cuGraphInstantiateWithFlags_v11040>("cuGraphInstantiateWithFlags")(&exec,
                                                                                        graph, 0));
    return exec;
  }
  // A node of the marker's becomes one of the memory's: (exec, node) changes it.
  void Change(const std::string& name, Node kind,
              const std::function<CUresult(CUgraphExec, CUgraphNode)>& change) {
    CUgraphNode node = nullptr;
    const CUgraph graph = Make(kind, c_.marker(), &node);
    const CUgraphExec exec = Instantiate(graph);
    c_.Call("before " + name, Told::kOther, [&] { return Launch(exec); });
    Call(
        name, [&] { return change(exec, node); }, exec, Told::kNamed);
    Destroy(exec);
    Destroy(graph);
  }

  CUDA_KERNEL_NODE_PARAMS Kernel(CUdeviceptr at) {
    words_ = at;
    CUDA_KERNEL_NODE_PARAMS params{};
    params.func = c_.p().add_constant;
    params.gridDimX = params.gridDimY = params.gridDimZ = 1;
    params.blockDimX = params.blockDimY = params.blockDimZ = 1;
    params.kernelParams = params_;
    return params;
  }
  CUDA_BATCH_MEM_OP_NODE_PARAMS MemOp(CUdeviceptr at) {
    op_.writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
    op_.writeValue.address = at;
    return {c_.p().context, 1, &op_, 0};
  }

 private:
  Caller& c_;
  CUdeviceptr words_ = 0;
  size_t count_ = 1;
  unsigned long long value_ = 1;
  void* params_[3] = {&words_, &count_, &value_};
  CUstreamBatchMemOpParams op_{};
};
using Node = Graphs::Node;
// As in CUDA 10 and 11.
using InstantiateWithLog = CUresult (*)(CUgraphExec*, CUgraph, CUgraphNode*, char*, size_t);

void CallInstantiations(Caller* c, Graphs* graphs) {
  const CUgraph graph = graphs->Make(Node::kFill, c->memory());
  const auto made = [&](const std::string& name, const auto& make) {
    CUgraphExec exec = nullptr;
    c->Call(name, Told::kNothing, [&] { return make(&exec); });
    c->Call(name + ", cuGraphLaunch", Told::kNamed, [&] { return graphs->Launch(exec); });
    Graphs::Destroy(exec);
  };
  for (const char* name : {"cuGraphInstantiate", "cuGraphInstantiate_v2"}) {
    const auto make = Get<InstantiateWithLog>(name);
    made(name, [&](CUgraphExec* exec) { return make(exec, graph, nullptr, nullptr, 0); });
  }
  const auto with_flags =
      Get<PFN_cuGraphInstantiateWithFlags_v11040>("cuGraphInstantiateWithFlags");
  made("cuGraphInstantiateWithFlags", [&](CUgraphExec* e) { return with_flags(e, graph, 0); });
  for (const char* name : {"cuGraphInstantiateWithParams", "cuGraphInstantiateWithParams_ptsz"}) {
    const auto make = Get<PFN_cuGraphInstantiateWithParams_v12000_ptsz>(name);
    made(name, [&](CUgraphExec* exec) {
      CUDA_GRAPH_INSTANTIATE_PARAMS params{};
      return make(exec, graph, &params);
    });
  }
  // What is gone is forgotten: its handle may come again.
  const CUgraphExec gone = Graphs::Instantiate(graph);
  c->Call("before cuGraphExecDestroy", Told::kNamed, [&] { return graphs->Launch(gone); });
  Graphs::Destroy(gone);
  c->Call(
      "cuGraphExecDestroy, cuGraphLaunch", Told::kUnknown, [&] { return graphs->Launch(gone); },
      CUDA_ERROR_INVALID_VALUE);
  Graphs::Destroy(graph);
}

void CallUpdates(Caller* c, Graphs* graphs) {
  const CUdeviceptr m = c->memory();
  const CUgraph named = graphs->Make(Node::kKernel, m);
  graphs->Change("cuGraphExecUpdate", Node::kKernel, [&](CUgraphExec exec, CUgraphNode) {
    CUgraphNode node = nullptr;
    CUgraphExecUpdateResult result{};
    return Get<PFN_cuGraphExecUpdate_v10020>("cuGraphExecUpdate")(exec, named, &node, &result);
  });
  graphs->Change("cuGraphExecUpdate_v2", Node::kKernel, [&](CUgraphExec exec, CUgraphNode) {
    CUgraphExecUpdateResultInfo info{};
    return Get<PFN_cuGraphExecUpdate_v12000>("cuGraphExecUpdate_v2")(exec, named, &info);
  });
  Graphs::Destroy(named);
  graphs->Change(
      "cuGraphExecKernelNodeSetParams", Node::kKernel, [&](CUgraphExec exec, CUgraphNode node) {
        const CUDA_KERNEL_NODE_PARAMS newer = graphs->Kernel(m);
        CUDA_KERNEL_NODE_PARAMS_v1 params{};
        params.func = newer.func;
        params.gridDimX = params.gridDimY = params.gridDimZ = 1;
        params.blockDimX = params.blockDimY = params.blockDimZ = 1;
        params.kernelParams = newer.kernelParams;
        return Get<PFN_cuGraphExecKernelNodeSetParams_v10010>("cuGraphExecKernelNodeSetParams")(
            exec, node, &params);
      });
  graphs->Change(
      "cuGraphExecKernelNodeSetParams_v2", Node::kKernel, [&](CUgraphExec exec, CUgraphNode node) {
        const CUDA_KERNEL_NODE_PARAMS params = graphs->Kernel(m);
        return Get<PFN_cuGraphExecKernelNodeSetParams_v12000>("cuGraphExecKernelNodeSetParams_v2")(
            exec, node, &params);
      });
  graphs->Change("cuGraphExecMemcpyNodeSetParams", Node::kCopy,
                 [&](CUgraphExec exec, CUgraphNode node) {
                   const CUDA_MEMCPY3D params = CopyNode(m);
                   return GET(cuGraphExecMemcpyNodeSetParams, "cuGraphExecMemcpyNodeSetParams")(
                       exec, node, &params, c->p().context);
                 });
  graphs->Change("cuGraphExecMemsetNodeSetParams", Node::kFill,
                 [&](CUgraphExec exec, CUgraphNode node) {
                   const CUDA_MEMSET_NODE_PARAMS params = FillNode(m);
                   return GET(cuGraphExecMemsetNodeSetParams, "cuGraphExecMemsetNodeSetParams")(
                       exec, node, &params, c->p().context);
                 });
  graphs->Change("cuGraphExecBatchMemOpNodeSetParams", Node::kMemOp,
                 [&](CUgraphExec exec, CUgraphNode node) {
                   const CUDA_BATCH_MEM_OP_NODE_PARAMS params = graphs->MemOp(m);
                   return GET(cuGraphExecBatchMemOpNodeSetParams,
                              "cuGraphExecBatchMemOpNodeSetParams")(exec, node, &params);
                 });
  graphs->Change(
      "cuGraphExecChildGraphNodeSetParams", Node::kChild, [&](CUgraphExec exec, CUgraphNode node) {
        // The child that the graph has, with another parameter.
        CUgraph child = nullptr;
        CHECK_OK(GET(cuGraphChildGraphNodeGetGraph, "cuGraphChildGraphNodeGetGraph")(node, &child));
        CUgraphNode inner = nullptr;
        size_t one = 1;
        CHECK_OK(GET(cuGraphGetNodes, "cuGraphGetNodes")(child, &inner, &one));
        const CUDA_KERNEL_NODE_PARAMS params = graphs->Kernel(m);
        CHECK_OK(GET(cuGraphKernelNodeSetParams, "cuGraphKernelNodeSetParams_v2")(inner, &params));
        return GET(cuGraphExecChildGraphNodeSetParams, "cuGraphExecChildGraphNodeSetParams")(
            exec, node, child);
      });
  graphs->Change("cuGraphExecNodeSetParams", Node::kFill, [&](CUgraphExec exec, CUgraphNode node) {
    CUgraphNodeParams params{};
    params.type = CU_GRAPH_NODE_TYPE_MEMSET;
    const CUDA_MEMSET_NODE_PARAMS fill = FillNode(m);
    params.memset.dst = fill.dst;
    params.memset.elementSize = fill.elementSize;
    params.memset.width = fill.width;
    params.memset.height = fill.height;
    params.memset.ctx = c->p().context;
    return GET(cuGraphExecNodeSetParams, "cuGraphExecNodeSetParams")(exec, node, &params);
  });
}

}  // namespace

void CallGraphs(Caller* c, bool per_thread) {
  Graphs graphs(c);
  const std::string launch = per_thread ? "cuGraphLaunch_ptsz" : "cuGraphLaunch";
  const CUgraph graph = graphs.Make(Node::kKernel, c->memory());
  const CUgraphExec exec = Graphs::Instantiate(graph);
  c->Call(launch, Told::kNamed, [&] { return GET(cuGraphLaunch, launch)(exec, c->stream()); });
  Graphs::Destroy(exec);
  Graphs::Destroy(graph);
  if (per_thread) return;
  CallInstantiations(c, &graphs);
  CallUpdates(c, &graphs);
}
