#ifndef VRAMSPAN_TOOLS_SIMCUDA_GRAPHS_NODE_WORK_H_
#define VRAMSPAN_TOOLS_SIMCUDA_GRAPHS_NODE_WORK_H_

// Between the parameter structs of the driver API and what a node does. The functions that make
// work check the parameters; those that read it back need a node of that type.

#include <cuda.h>

#include "tools/simcuda/graphs/graph.h"

namespace simcuda::graphs {

CUresult MakeKernel(const CUDA_KERNEL_NODE_PARAMS_v2& params, NodeWork* work);
CUresult MakeMemcpy(const CUDA_MEMCPY3D& params, NodeWork* work);
CUresult MakeMemset(const CUDA_MEMSET_NODE_PARAMS_v1& params, NodeWork* work);
CUresult MakeHost(const CUDA_HOST_NODE_PARAMS_v1& params, NodeWork* work);
CUresult MakeMemOps(const CUDA_BATCH_MEM_OP_NODE_PARAMS_v1& params, NodeWork* work);
// `type` is CU_GRAPH_NODE_TYPE_EVENT_RECORD or CU_GRAPH_NODE_TYPE_WAIT_EVENT.
CUresult MakeEvent(CUgraphNodeType type, CUevent event, NodeWork* work);
CUresult MakeChild(CUgraph graph, NodeWork* work) SIMCUDA_REQUIRES(graph_mutex);
// Any of the above by its type; CUDA_ERROR_NOT_SUPPORTED for the types that simcuda does not have.
CUresult MakeWork(const CUgraphNodeParams& params, NodeWork* work) SIMCUDA_REQUIRES(graph_mutex);

// The work of a captured op, whatever its kind but kGraph; false where it cannot be captured.
bool MakeCaptured(const OpPtr& op, NodeWork* work);

// `kernel` is set where the kernel was named by a CUkernel, `function` otherwise.
void ReadKernel(const NodeWork& work, CUDA_KERNEL_NODE_PARAMS_v2* params);
void ReadMemcpy(const NodeWork& work, CUDA_MEMCPY3D* params);
void ReadMemset(const NodeWork& work, CUDA_MEMSET_NODE_PARAMS_v1* params);
void ReadHost(const NodeWork& work, CUDA_HOST_NODE_PARAMS_v1* params);
void ReadMemOps(const NodeWork& work, CUDA_BATCH_MEM_OP_NODE_PARAMS_v1* params);

}  // namespace simcuda::graphs

#endif  // VRAMSPAN_TOOLS_SIMCUDA_GRAPHS_NODE_WORK_H_
