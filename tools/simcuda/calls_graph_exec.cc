// Executable graphs: making, updating, launching them.

#include <utility>

#include "tools/simcuda/calls_graph.h"
#include "tools/simcuda/graphs/exec.h"
#include "tools/simcuda/graphs/graph.h"
#include "tools/simcuda/graphs/node_work.h"
#include "tools/simcuda/thread.h"

namespace simcuda::calls {

using graphs::ExecPtr;
using graphs::graph_mutex;
using graphs::GraphPtr;
using graphs::Node;
using graphs::NodeWork;

namespace {

constexpr unsigned long long kKnownFlags =
    CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH | CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD |
    CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH | CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY;

CUresult Instantiate(CUgraphExec* out, CUgraph handle, unsigned long long flags) {
  if (out == nullptr || (flags & ~kKnownFlags) != 0) return CUDA_ERROR_INVALID_VALUE;
  if ((flags & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH) != 0) return CUDA_ERROR_NOT_SUPPORTED;
  MutexLock lock(graph_mutex);
  GraphPtr graph;
  CUresult result = FindGraph(handle, &graph);
  if (result != CUDA_SUCCESS) return result;
  if (graph->owner() == graphs::GraphOwner::kCapture) return CUDA_ERROR_ILLEGAL_STATE;
  ExecPtr exec;
  result = graphs::Exec::Create(*graph, flags, &exec);
  if (result == CUDA_SUCCESS) *out = graphs::Execs().Insert(std::move(exec));
  return result;
}

// Finds the node of an executable graph that stands for a node of the graph it was made from.
CUresult FindInExec(CUgraphExec handle, CUgraphNode origin, ExecPtr* exec, Node** node)
    SIMCUDA_REQUIRES(graph_mutex) {
  const CUresult result = FindExec(handle, exec);
  if (result != CUDA_SUCCESS) return result;
  *node = origin != nullptr ? (*exec)->Find(origin) : nullptr;
  return *node != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

template <typename Make>
CUresult SetInExec(CUgraphExec handle, CUgraphNode origin, Make make) {
  MutexLock lock(graph_mutex);
  ExecPtr exec;
  Node* node = nullptr;
  CUresult result = FindInExec(handle, origin, &exec, &node);
  if (result != CUDA_SUCCESS) return result;
  NodeWork work;
  result = make(&work);
  if (result != CUDA_SUCCESS) return result;
  const GraphPtr child = work.child;
  result = exec->SetWork(*node, std::move(work));
  // The copy was only made to be compared and read.
  if (child) child->Retire();
  return result;
}

CUresult CheckStream(CUstream handle, StreamPtr* stream, CUgraphExec exec_handle, ExecPtr* exec) {
  const CUresult result = FindExec(exec_handle, exec);
  return result == CUDA_SUCCESS ? FindStream(handle, stream) : result;
}

}  // namespace

CUresult GraphInstantiate11000(CUgraphExec* exec, CUgraph graph, CUgraphNode* error_node, char* log,
                               size_t log_bytes) {
  if (error_node != nullptr) *error_node = nullptr;
  if (log != nullptr && log_bytes != 0) *log = '\0';
  return Instantiate(exec, graph, 0);
}

CUresult GraphInstantiateWithFlags(CUgraphExec* exec, CUgraph graph, unsigned long long flags) {
  // Uploading needs a stream, which only the other call gives.
  if ((flags & CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD) != 0) return CUDA_ERROR_INVALID_VALUE;
  return Instantiate(exec, graph, flags);
}

CUresult GraphInstantiateWithParams(CUgraphExec* exec, CUgraph graph,
                                    CUDA_GRAPH_INSTANTIATE_PARAMS* params) {
  if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  params->hErrNode_out = nullptr;
  const CUresult result = Instantiate(exec, graph, params->flags);
  params->result_out =
      result == CUDA_SUCCESS ? CUDA_GRAPH_INSTANTIATE_SUCCESS : CUDA_GRAPH_INSTANTIATE_ERROR;
  if (result != CUDA_SUCCESS || (params->flags & CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD) == 0) {
    return result;
  }
  return GraphUpload(*exec, params->hUploadStream);
}

CUresult GraphExecGetFlags(CUgraphExec handle, cuuint64_t* flags) {
  if (flags == nullptr) return CUDA_ERROR_INVALID_VALUE;
  ExecPtr exec;
  const CUresult result = FindExec(handle, &exec);
  // Uploading is done with, not a property.
  if (result == CUDA_SUCCESS) *flags = exec->flags() & ~CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD;
  return result;
}

CUresult GraphExecUpdate10020(CUgraphExec exec, CUgraph graph, CUgraphNode* error_node,
                              CUgraphExecUpdateResult* update) {
  if (error_node == nullptr || update == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CUgraphExecUpdateResultInfo info = {};
  const CUresult result = GraphExecUpdate(exec, graph, &info);
  *error_node = info.errorNode;
  *update = info.result;
  return result;
}

CUresult GraphExecUpdate(CUgraphExec handle, CUgraph graph_handle,
                         CUgraphExecUpdateResultInfo* info) {
  if (info == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *info = {};
  info->result = CU_GRAPH_EXEC_UPDATE_ERROR;
  MutexLock lock(graph_mutex);
  ExecPtr exec;
  GraphPtr graph;
  CUresult result = FindExec(handle, &exec);
  if (result == CUDA_SUCCESS) result = FindGraph(graph_handle, &graph);
  return result == CUDA_SUCCESS ? exec->Update(*graph, info) : result;
}

CUresult GraphExecKernelNodeSetParams10010(CUgraphExec exec, CUgraphNode node,
                                           const CUDA_KERNEL_NODE_PARAMS_v1* params) {
  if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const CUDA_KERNEL_NODE_PARAMS wide = {
      params->func,         params->gridDimX,  params->gridDimY,  params->gridDimZ,
      params->blockDimX,    params->blockDimY, params->blockDimZ, params->sharedMemBytes,
      params->kernelParams, params->extra,     nullptr,           nullptr};
  return GraphExecKernelNodeSetParams(exec, node, &wide);
}

CUresult GraphExecKernelNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                      const CUDA_KERNEL_NODE_PARAMS* params) {
  if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return SetInExec(exec, node, [&](NodeWork* work) { return MakeKernel(*params, work); });
}

CUresult GraphExecMemcpyNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                      const CUDA_MEMCPY3D* params, CUcontext /*context*/) {
  if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return SetInExec(exec, node, [&](NodeWork* work) { return MakeMemcpy(*params, work); });
}

CUresult GraphExecMemsetNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                      const CUDA_MEMSET_NODE_PARAMS* params,
                                      CUcontext /*context*/) {
  if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return SetInExec(exec, node, [&](NodeWork* work) { return MakeMemset(*params, work); });
}

CUresult GraphExecHostNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                    const CUDA_HOST_NODE_PARAMS* params) {
  if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return SetInExec(exec, node, [&](NodeWork* work) { return MakeHost(*params, work); });
}

CUresult GraphExecBatchMemOpNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                          const CUDA_BATCH_MEM_OP_NODE_PARAMS* params) {
  if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return SetInExec(exec, node, [&](NodeWork* work) { return MakeMemOps(*params, work); });
}

CUresult GraphExecChildGraphNodeSetParams(CUgraphExec exec, CUgraphNode node, CUgraph child) {
  return SetInExec(exec, node,
                   [&](NodeWork* work) SIMCUDA_NO_ANALYSIS { return MakeChild(child, work); });
}

CUresult GraphExecEventRecordNodeSetEvent(CUgraphExec exec, CUgraphNode node, CUevent event) {
  return SetInExec(exec, node, [&](NodeWork* work) {
    return MakeEvent(CU_GRAPH_NODE_TYPE_EVENT_RECORD, event, work);
  });
}

CUresult GraphExecEventWaitNodeSetEvent(CUgraphExec exec, CUgraphNode node, CUevent event) {
  return SetInExec(exec, node, [&](NodeWork* work) {
    return MakeEvent(CU_GRAPH_NODE_TYPE_WAIT_EVENT, event, work);
  });
}

CUresult GraphExecNodeSetParams(CUgraphExec exec, CUgraphNode node, CUgraphNodeParams* params) {
  if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return SetInExec(exec, node,
                   [&](NodeWork* work) SIMCUDA_NO_ANALYSIS { return MakeWork(*params, work); });
}

CUresult GraphNodeSetEnabled(CUgraphExec handle, CUgraphNode origin, unsigned enabled) {
  MutexLock lock(graph_mutex);
  ExecPtr exec;
  Node* node = nullptr;
  const CUresult result = FindInExec(handle, origin, &exec, &node);
  if (result != CUDA_SUCCESS) return result;
  const CUgraphNodeType type = node->work().type;
  if (type != CU_GRAPH_NODE_TYPE_KERNEL && type != CU_GRAPH_NODE_TYPE_MEMSET &&
      type != CU_GRAPH_NODE_TYPE_MEMCPY) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  exec->SetEnabled(*node, enabled != 0);
  return CUDA_SUCCESS;
}

CUresult GraphNodeGetEnabled(CUgraphExec handle, CUgraphNode origin, unsigned* enabled) {
  if (enabled == nullptr) return CUDA_ERROR_INVALID_VALUE;
  MutexLock lock(graph_mutex);
  ExecPtr exec;
  Node* node = nullptr;
  const CUresult result = FindInExec(handle, origin, &exec, &node);
  if (result == CUDA_SUCCESS) *enabled = node->enabled() ? 1 : 0;
  return result;
}

CUresult GraphUpload(CUgraphExec exec_handle, CUstream stream_handle) {
  // There is nothing to upload: the ops are where they run.
  ExecPtr exec;
  StreamPtr stream;
  return CheckStream(stream_handle, &stream, exec_handle, &exec);
}

CUresult GraphLaunch(CUgraphExec exec_handle, CUstream stream_handle) {
  ExecPtr exec;
  StreamPtr stream;
  const CUresult result = CheckStream(stream_handle, &stream, exec_handle, &exec);
  return result == CUDA_SUCCESS ? exec->Launch(*stream) : result;
}

CUresult GraphExecDestroy(CUgraphExec handle) {
  MutexLock lock(graph_mutex);
  return graphs::Execs().Remove(handle) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

}  // namespace simcuda::calls
