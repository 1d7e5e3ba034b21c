// Graph nodes by type: making them, reading and replacing what they do.

#include <utility>
#include <vector>

#include "tools/simcuda/calls_graph.h"
#include "tools/simcuda/graphs/graph.h"
#include "tools/simcuda/graphs/node_work.h"

namespace simcuda::calls {

using graphs::graph_mutex;
using graphs::GraphPtr;
using graphs::Node;
using graphs::NodePtr;
using graphs::NodeWork;

namespace {

// Adds a node of the work that `make` makes, once all arguments are found good.
template <typename Make>
CUresult Add(CUgraphNode* out, CUgraph handle, const CUgraphNode* dependencies, size_t count,
             Make make) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  MutexLock lock(graph_mutex);
  GraphPtr graph;
  CUresult result = FindGraph(handle, &graph);
  if (result != CUDA_SUCCESS) return result;
  std::vector<Node*> nodes;
  result = FindNodes(*graph, dependencies, count, &nodes);
  if (result != CUDA_SUCCESS) return result;
  NodeWork work;
  result = make(&work);
  if (result != CUDA_SUCCESS) return result;
  *out = graph->Add(std::move(work), std::move(nodes)).handle();
  return CUDA_SUCCESS;
}

CUresult FindOfType(CUgraphNode handle, CUgraphNodeType type, NodePtr* node) {
  const CUresult result = FindNode(handle, node);
  if (result != CUDA_SUCCESS) return result;
  return (*node)->work().type == type ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

// Of the attributes there is one: the others are kept nowhere.
CUresult FindWithAttribute(CUgraphNode handle, CUkernelNodeAttrID attribute, NodePtr* node) {
  if (attribute != CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE) {
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  return FindOfType(handle, CU_GRAPH_NODE_TYPE_KERNEL, node);
}

template <typename Params, typename Read>
CUresult Get(CUgraphNode handle, CUgraphNodeType type, Params* params, Read read) {
  if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  MutexLock lock(graph_mutex);
  NodePtr node;
  const CUresult result = FindOfType(handle, type, &node);
  if (result == CUDA_SUCCESS) read(node->work(), params);
  return result;
}

template <typename Make>
CUresult Set(CUgraphNode handle, CUgraphNodeType type, Make make) {
  MutexLock lock(graph_mutex);
  NodePtr node;
  CUresult result = FindOfType(handle, type, &node);
  if (result != CUDA_SUCCESS) return result;
  NodeWork work;
  result = make(&work);
  if (result != CUDA_SUCCESS) return result;
  if (node->work().child) node->work().child->Retire();
  node->set_work(std::move(work));
  return CUDA_SUCCESS;
}

CUDA_KERNEL_NODE_PARAMS Widen(const CUDA_KERNEL_NODE_PARAMS_v1& params) {
  return {params.func,         params.gridDimX,  params.gridDimY,  params.gridDimZ,
          params.blockDimX,    params.blockDimY, params.blockDimZ, params.sharedMemBytes,
          params.kernelParams, params.extra,     nullptr,          nullptr};
}

}  // namespace

CUresult GraphAddKernelNode10000(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                                 size_t count, const CUDA_KERNEL_NODE_PARAMS_v1* params) {
  if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const CUDA_KERNEL_NODE_PARAMS wide = Widen(*params);
  return GraphAddKernelNode(node, graph, dependencies, count, &wide);
}

CUresult GraphAddKernelNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                            size_t count, const CUDA_KERNEL_NODE_PARAMS* params) {
  if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return Add(node, graph, dependencies, count,
             [&](NodeWork* work) { return MakeKernel(*params, work); });
}

CUresult GraphKernelNodeGetParams10000(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS_v1* params) {
  return Get(node, CU_GRAPH_NODE_TYPE_KERNEL, params,
             [](const NodeWork& work, CUDA_KERNEL_NODE_PARAMS_v1* narrow) {
               CUDA_KERNEL_NODE_PARAMS wide;
               ReadKernel(work, &wide);
               *narrow = {
                   wide.func != nullptr ? wide.func : reinterpret_cast<CUfunction>(wide.kern),
                   wide.gridDimX,
                   wide.gridDimY,
                   wide.gridDimZ,
                   wide.blockDimX,
                   wide.blockDimY,
                   wide.blockDimZ,
                   wide.sharedMemBytes,
                   wide.kernelParams,
                   wide.extra};
             });
}

CUresult GraphKernelNodeGetParams(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS* params) {
  return Get(node, CU_GRAPH_NODE_TYPE_KERNEL, params, graphs::ReadKernel);
}

CUresult GraphKernelNodeSetParams10000(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v1* params) {
  if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const CUDA_KERNEL_NODE_PARAMS wide = Widen(*params);
  return GraphKernelNodeSetParams(node, &wide);
}

CUresult GraphKernelNodeSetParams(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS* params) {
  if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return Set(node, CU_GRAPH_NODE_TYPE_KERNEL,
             [&](NodeWork* work) { return MakeKernel(*params, work); });
}

CUresult GraphKernelNodeGetAttribute(CUgraphNode handle, CUkernelNodeAttrID attribute,
                                     CUkernelNodeAttrValue* value) {
  if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  MutexLock lock(graph_mutex);
  NodePtr node;
  const CUresult result = FindWithAttribute(handle, attribute, &node);
  if (result != CUDA_SUCCESS) return result;
  value->deviceUpdatableKernelNode = {node->device_updatable(), nullptr};
  return CUDA_SUCCESS;
}

CUresult GraphKernelNodeSetAttribute(CUgraphNode handle, CUkernelNodeAttrID attribute,
                                     const CUkernelNodeAttrValue* value) {
  if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  MutexLock lock(graph_mutex);
  NodePtr node;
  const CUresult result = FindWithAttribute(handle, attribute, &node);
  if (result != CUDA_SUCCESS) return result;
  // A node stays what it became.
  if (value->deviceUpdatableKernelNode.deviceUpdatable != 1) return CUDA_ERROR_INVALID_VALUE;
  node->MakeDeviceUpdatable();
  return CUDA_SUCCESS;
}

CUresult GraphAddMemcpyNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                            size_t count, const CUDA_MEMCPY3D* params, CUcontext /*context*/) {
  if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return Add(node, graph, dependencies, count,
             [&](NodeWork* work) { return MakeMemcpy(*params, work); });
}

CUresult GraphMemcpyNodeGetParams(CUgraphNode node, CUDA_MEMCPY3D* params) {
  return Get(node, CU_GRAPH_NODE_TYPE_MEMCPY, params, graphs::ReadMemcpy);
}

CUresult GraphMemcpyNodeSetParams(CUgraphNode node, const CUDA_MEMCPY3D* params) {
  if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return Set(node, CU_GRAPH_NODE_TYPE_MEMCPY,
             [&](NodeWork* work) { return MakeMemcpy(*params, work); });
}

CUresult GraphAddMemsetNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                            size_t count, const CUDA_MEMSET_NODE_PARAMS* params,
                            CUcontext /*context*/) {
  if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return Add(node, graph, dependencies, count,
             [&](NodeWork* work) { return MakeMemset(*params, work); });
}

CUresult GraphMemsetNodeGetParams(CUgraphNode node, CUDA_MEMSET_NODE_PARAMS* params) {
  return Get(node, CU_GRAPH_NODE_TYPE_MEMSET, params, graphs::ReadMemset);
}

CUresult GraphMemsetNodeSetParams(CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS* params) {
  if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return Set(node, CU_GRAPH_NODE_TYPE_MEMSET,
             [&](NodeWork* work) { return MakeMemset(*params, work); });
}

CUresult GraphAddHostNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                          size_t count, const CUDA_HOST_NODE_PARAMS* params) {
  if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return Add(node, graph, dependencies, count,
             [&](NodeWork* work) { return MakeHost(*params, work); });
}

CUresult GraphHostNodeGetParams(CUgraphNode node, CUDA_HOST_NODE_PARAMS* params) {
  return Get(node, CU_GRAPH_NODE_TYPE_HOST, params, graphs::ReadHost);
}

CUresult GraphHostNodeSetParams(CUgraphNode node, const CUDA_HOST_NODE_PARAMS* params) {
  if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return Set(node, CU_GRAPH_NODE_TYPE_HOST,
             [&](NodeWork* work) { return MakeHost(*params, work); });
}

CUresult GraphAddChildGraphNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                                size_t count, CUgraph child) {
  if (graph == child) return CUDA_ERROR_INVALID_VALUE;
  return Add(node, graph, dependencies, count,
             [&](NodeWork* work) SIMCUDA_NO_ANALYSIS { return MakeChild(child, work); });
}

CUresult GraphChildGraphNodeGetGraph(CUgraphNode node, CUgraph* graph) {
  return Get(node, CU_GRAPH_NODE_TYPE_GRAPH, graph,
             [](const NodeWork& work, CUgraph* out) { *out = work.child->handle(); });
}

CUresult GraphAddEmptyNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                           size_t count) {
  return Add(node, graph, dependencies, count, [](NodeWork* /*work*/) { return CUDA_SUCCESS; });
}

CUresult GraphAddEventRecordNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                                 size_t count, CUevent event) {
  return Add(node, graph, dependencies, count, [&](NodeWork* work) {
    return MakeEvent(CU_GRAPH_NODE_TYPE_EVENT_RECORD, event, work);
  });
}

CUresult GraphEventRecordNodeGetEvent(CUgraphNode node, CUevent* event) {
  return Get(node, CU_GRAPH_NODE_TYPE_EVENT_RECORD, event,
             [](const NodeWork& work, CUevent* out) { *out = work.event_handle; });
}

CUresult GraphEventRecordNodeSetEvent(CUgraphNode node, CUevent event) {
  return Set(node, CU_GRAPH_NODE_TYPE_EVENT_RECORD, [&](NodeWork* work) {
    return MakeEvent(CU_GRAPH_NODE_TYPE_EVENT_RECORD, event, work);
  });
}

CUresult GraphAddEventWaitNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                               size_t count, CUevent event) {
  return Add(node, graph, dependencies, count,
             [&](NodeWork* work) { return MakeEvent(CU_GRAPH_NODE_TYPE_WAIT_EVENT, event, work); });
}

CUresult GraphEventWaitNodeGetEvent(CUgraphNode node, CUevent* event) {
  return Get(node, CU_GRAPH_NODE_TYPE_WAIT_EVENT, event,
             [](const NodeWork& work, CUevent* out) { *out = work.event_handle; });
}

CUresult GraphEventWaitNodeSetEvent(CUgraphNode node, CUevent event) {
  return Set(node, CU_GRAPH_NODE_TYPE_WAIT_EVENT,
             [&](NodeWork* work) { return MakeEvent(CU_GRAPH_NODE_TYPE_WAIT_EVENT, event, work); });
}

CUresult GraphAddBatchMemOpNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                                size_t count, const CUDA_BATCH_MEM_OP_NODE_PARAMS* params) {
  if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return Add(node, graph, dependencies, count,
             [&](NodeWork* work) { return MakeMemOps(*params, work); });
}

CUresult GraphBatchMemOpNodeGetParams(CUgraphNode node, CUDA_BATCH_MEM_OP_NODE_PARAMS* params) {
  return Get(node, CU_GRAPH_NODE_TYPE_BATCH_MEM_OP, params, graphs::ReadMemOps);
}

CUresult GraphBatchMemOpNodeSetParams(CUgraphNode node,
                                      const CUDA_BATCH_MEM_OP_NODE_PARAMS* params) {
  if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return Set(node, CU_GRAPH_NODE_TYPE_BATCH_MEM_OP,
             [&](NodeWork* work) { return MakeMemOps(*params, work); });
}

CUresult GraphAddNode12020(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                           size_t count, CUgraphNodeParams* params) {
  return GraphAddNode(node, graph, dependencies, nullptr, count, params);
}

CUresult GraphAddNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                      const CUgraphEdgeData* /*edges*/, size_t count, CUgraphNodeParams* params) {
  if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (params->type == CU_GRAPH_NODE_TYPE_GRAPH && params->graph.graph == graph) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  return Add(node, graph, dependencies, count,
             [&](NodeWork* work) SIMCUDA_NO_ANALYSIS { return MakeWork(*params, work); });
}

CUresult GraphNodeSetParams(CUgraphNode node, CUgraphNodeParams* params) {
  if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return Set(node, params->type,
             [&](NodeWork* work) SIMCUDA_NO_ANALYSIS { return MakeWork(*params, work); });
}

}  // namespace simcuda::calls
