#ifndef VRAMSPAN_TOOLS_SIMCUDA_CALLS_GRAPH_H_
#define VRAMSPAN_TOOLS_SIMCUDA_CALLS_GRAPH_H_

// Graphs: what cuda.h says of the cu* calls of the same names. A number in a name is the version of
// an older ABI. Edges carry no data here: what is given is ignored, what is asked for is zero.

#include <cuda.h>

#include <cstddef>

namespace simcuda::calls {

// Graphs, nodes and edges: calls_graph.cc.
CUresult GraphCreate(CUgraph* graph, unsigned flags);
CUresult GraphDestroy(CUgraph graph);
CUresult GraphClone(CUgraph* clone, CUgraph original);
CUresult GraphDestroyNode(CUgraphNode node);
CUresult GraphNodeFindInClone(CUgraphNode* node, CUgraphNode original, CUgraph clone);
CUresult GraphNodeGetType(CUgraphNode node, CUgraphNodeType* type);
CUresult GraphGetNodes(CUgraph graph, CUgraphNode* nodes, size_t* count);
CUresult GraphGetRootNodes(CUgraph graph, CUgraphNode* nodes, size_t* count);
CUresult GraphGetEdges10000(CUgraph graph, CUgraphNode* from, CUgraphNode* to, size_t* count);
CUresult GraphGetEdges(CUgraph graph, CUgraphNode* from, CUgraphNode* to, CUgraphEdgeData* edges,
                       size_t* count);
CUresult GraphNodeGetDependencies10000(CUgraphNode node, CUgraphNode* nodes, size_t* count);
CUresult GraphNodeGetDependencies(CUgraphNode node, CUgraphNode* nodes, CUgraphEdgeData* edges,
                                  size_t* count);
CUresult GraphNodeGetDependentNodes10000(CUgraphNode node, CUgraphNode* nodes, size_t* count);
CUresult GraphNodeGetDependentNodes(CUgraphNode node, CUgraphNode* nodes, CUgraphEdgeData* edges,
                                    size_t* count);
CUresult GraphAddDependencies10000(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to,
                                   size_t count);
CUresult GraphAddDependencies(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to,
                              const CUgraphEdgeData* edges, size_t count);
CUresult GraphRemoveDependencies10000(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to,
                                      size_t count);
CUresult GraphRemoveDependencies(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to,
                                 const CUgraphEdgeData* edges, size_t count);

// Nodes by type: calls_graph_nodes.cc.
CUresult GraphAddKernelNode10000(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                                 size_t count, const CUDA_KERNEL_NODE_PARAMS_v1* params);
CUresult GraphAddKernelNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                            size_t count, const CUDA_KERNEL_NODE_PARAMS* params);
CUresult GraphKernelNodeGetParams10000(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS_v1* params);
CUresult GraphKernelNodeGetParams(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS* params);
CUresult GraphKernelNodeSetParams10000(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v1* params);
CUresult GraphKernelNodeSetParams(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS* params);
CUresult GraphKernelNodeGetAttribute(CUgraphNode node, CUkernelNodeAttrID attribute,
                                     CUkernelNodeAttrValue* value);
CUresult GraphKernelNodeSetAttribute(CUgraphNode node, CUkernelNodeAttrID attribute,
                                     const CUkernelNodeAttrValue* value);
CUresult GraphAddMemcpyNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                            size_t count, const CUDA_MEMCPY3D* params, CUcontext context);
CUresult GraphMemcpyNodeGetParams(CUgraphNode node, CUDA_MEMCPY3D* params);
CUresult GraphMemcpyNodeSetParams(CUgraphNode node, const CUDA_MEMCPY3D* params);
CUresult GraphAddMemsetNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                            size_t count, const CUDA_MEMSET_NODE_PARAMS* params, CUcontext context);
CUresult GraphMemsetNodeGetParams(CUgraphNode node, CUDA_MEMSET_NODE_PARAMS* params);
CUresult GraphMemsetNodeSetParams(CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS* params);
CUresult GraphAddHostNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                          size_t count, const CUDA_HOST_NODE_PARAMS* params);
CUresult GraphHostNodeGetParams(CUgraphNode node, CUDA_HOST_NODE_PARAMS* params);
CUresult GraphHostNodeSetParams(CUgraphNode node, const CUDA_HOST_NODE_PARAMS* params);
CUresult GraphAddChildGraphNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                                size_t count, CUgraph child);
CUresult GraphChildGraphNodeGetGraph(CUgraphNode node, CUgraph* graph);
CUresult GraphAddEmptyNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                           size_t count);
CUresult GraphAddEventRecordNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                                 size_t count, CUevent event);
CUresult GraphEventRecordNodeGetEvent(CUgraphNode node, CUevent* event);
CUresult GraphEventRecordNodeSetEvent(CUgraphNode node, CUevent event);
CUresult GraphAddEventWaitNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                               size_t count, CUevent event);
CUresult GraphEventWaitNodeGetEvent(CUgraphNode node, CUevent* event);
CUresult GraphEventWaitNodeSetEvent(CUgraphNode node, CUevent event);
CUresult GraphAddBatchMemOpNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                                size_t count, const CUDA_BATCH_MEM_OP_NODE_PARAMS* params);
CUresult GraphBatchMemOpNodeGetParams(CUgraphNode node, CUDA_BATCH_MEM_OP_NODE_PARAMS* params);
CUresult GraphBatchMemOpNodeSetParams(CUgraphNode node,
                                      const CUDA_BATCH_MEM_OP_NODE_PARAMS* params);
CUresult GraphAddNode12020(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                           size_t count, CUgraphNodeParams* params);
CUresult GraphAddNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                      const CUgraphEdgeData* edges, size_t count, CUgraphNodeParams* params);
CUresult GraphNodeSetParams(CUgraphNode node, CUgraphNodeParams* params);

// Executable graphs: calls_graph_exec.cc.
CUresult GraphInstantiate11000(CUgraphExec* exec, CUgraph graph, CUgraphNode* error_node, char* log,
                               size_t log_bytes);
CUresult GraphInstantiateWithFlags(CUgraphExec* exec, CUgraph graph, unsigned long long flags);
CUresult GraphInstantiateWithParams(CUgraphExec* exec, CUgraph graph,
                                    CUDA_GRAPH_INSTANTIATE_PARAMS* params);
CUresult GraphExecGetFlags(CUgraphExec exec, cuuint64_t* flags);
CUresult GraphExecUpdate10020(CUgraphExec exec, CUgraph graph, CUgraphNode* error_node,
                              CUgraphExecUpdateResult* update);
CUresult GraphExecUpdate(CUgraphExec exec, CUgraph graph, CUgraphExecUpdateResultInfo* info);
CUresult GraphExecKernelNodeSetParams10010(CUgraphExec exec, CUgraphNode node,
                                           const CUDA_KERNEL_NODE_PARAMS_v1* params);
CUresult GraphExecKernelNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                      const CUDA_KERNEL_NODE_PARAMS* params);
CUresult GraphExecMemcpyNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                      const CUDA_MEMCPY3D* params, CUcontext context);
CUresult GraphExecMemsetNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                      const CUDA_MEMSET_NODE_PARAMS* params, CUcontext context);
CUresult GraphExecHostNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                    const CUDA_HOST_NODE_PARAMS* params);
CUresult GraphExecBatchMemOpNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                          const CUDA_BATCH_MEM_OP_NODE_PARAMS* params);
CUresult GraphExecChildGraphNodeSetParams(CUgraphExec exec, CUgraphNode node, CUgraph child);
CUresult GraphExecEventRecordNodeSetEvent(CUgraphExec exec, CUgraphNode node, CUevent event);
CUresult GraphExecEventWaitNodeSetEvent(CUgraphExec exec, CUgraphNode node, CUevent event);
CUresult GraphExecNodeSetParams(CUgraphExec exec, CUgraphNode node, CUgraphNodeParams* params);
CUresult GraphNodeSetEnabled(CUgraphExec exec, CUgraphNode node, unsigned enabled);
CUresult GraphNodeGetEnabled(CUgraphExec exec, CUgraphNode node, unsigned* enabled);
CUresult GraphUpload(CUgraphExec exec, CUstream stream);
CUresult GraphLaunch(CUgraphExec exec, CUstream stream);
CUresult GraphExecDestroy(CUgraphExec exec);

}  // namespace simcuda::calls

#endif  // VRAMSPAN_TOOLS_SIMCUDA_CALLS_GRAPH_H_
