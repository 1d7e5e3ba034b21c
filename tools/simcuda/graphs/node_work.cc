#include "tools/simcuda/graphs/node_work.h"

#include <utility>
#include <vector>

#include "tools/simcuda/copy.h"
#include "tools/simcuda/memory/address_map.h"
#include "tools/simcuda/memory/arrays.h"
#include "tools/simcuda/modules/kernel_op.h"
#include "tools/simcuda/modules/module.h"
#include "tools/simcuda/thread.h"

namespace simcuda::graphs {
namespace {

// Memory that the driver does not know is the program's own.
CUmemorytype TypeOf(const void* address) {
  const memory::RangePtr range =
      memory::AddressMap::Get().Find(reinterpret_cast<CUdeviceptr>(address));
  return range && !range->host() ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
}

void PlaceIn(const memory::Array& array, const void* address, size_t* x, size_t* y, size_t* z) {
  const auto offset = static_cast<size_t>(static_cast<const char*>(address) - array.data);
  *z = offset / array.plane_bytes();
  *y = offset % array.plane_bytes() / array.row_bytes();
  *x = offset % array.row_bytes();
}

CUgraphNodeType TypeOf(OpKind kind) {
  switch (kind) {
    case OpKind::kKernel:
      return CU_GRAPH_NODE_TYPE_KERNEL;
    case OpKind::kMemcpy:
      return CU_GRAPH_NODE_TYPE_MEMCPY;
    case OpKind::kMemset:
      return CU_GRAPH_NODE_TYPE_MEMSET;
    case OpKind::kHostFunc:
      return CU_GRAPH_NODE_TYPE_HOST;
    case OpKind::kMemOps:
      return CU_GRAPH_NODE_TYPE_BATCH_MEM_OP;
    default:
      return CU_GRAPH_NODE_TYPE_EMPTY;
  }
}

void SetOp(OpPtr op, NodeWork* work) {
  work->type = TypeOf(op->kind());
  work->op = std::move(op);
}

}  // namespace

CUresult MakeKernel(const CUDA_KERNEL_NODE_PARAMS_v2& params, NodeWork* work) {
  const CUfunction handle =
      params.func != nullptr ? params.func : reinterpret_cast<CUfunction>(params.kern);
  if (handle == nullptr) return CUDA_ERROR_INVALID_VALUE;
  FunctionPtr function = Functions().FindQuietly(handle);
  if (!function) {
    const CUresult result = FindLaunchable(handle, CurrentContext(), &function);
    if (result != CUDA_SUCCESS) return result;
  }
  const LaunchShape shape = {{params.gridDimX, params.gridDimY, params.gridDimZ},
                             {params.blockDimX, params.blockDimY, params.blockDimZ},
                             params.sharedMemBytes,
                             false};
  KernelOpPtr op;
  const CUresult result =
      KernelOp::Create(*function, handle, shape, params.kernelParams, params.extra, &op);
  if (result != CUDA_SUCCESS) return result;
  // Making the node loads the function, without waiting for anything.
  function->MarkLoaded();
  SetOp(std::move(op), work);
  return CUDA_SUCCESS;
}

CUresult MakeMemcpy(const CUDA_MEMCPY3D& params, NodeWork* work) {
  Copy copy;
  CUresult result = CopyFrom3D(params, &copy);
  if (result == CUDA_SUCCESS) result = CheckCopy(copy);
  if (result == CUDA_SUCCESS) SetOp(std::make_shared<MemcpyOp>(copy.shape), work);
  return result;
}

CUresult MakeMemset(const CUDA_MEMSET_NODE_PARAMS_v1& params, NodeWork* work) {
  if (params.elementSize != 1 && params.elementSize != 2 && params.elementSize != 4) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  FillShape shape;
  shape.dst = reinterpret_cast<void*>(params.dst);
  shape.value = params.value;
  shape.element_size = params.elementSize;
  shape.width = params.width;
  shape.height = params.height;
  shape.pitch = params.height > 1 ? params.pitch : params.width * params.elementSize;
  const CUresult result = CheckFill(shape);
  if (result == CUDA_SUCCESS) SetOp(std::make_shared<MemsetOp>(shape), work);
  return result;
}

CUresult MakeHost(const CUDA_HOST_NODE_PARAMS_v1& params, NodeWork* work) {
  if (params.fn == nullptr) return CUDA_ERROR_INVALID_VALUE;
  SetOp(std::make_shared<HostFuncOp>(params.fn, params.userData), work);
  return CUDA_SUCCESS;
}

CUresult MakeMemOps(const CUDA_BATCH_MEM_OP_NODE_PARAMS_v1& params, NodeWork* work) {
  if (params.count == 0 || params.count > 256 || params.paramArray == nullptr ||
      params.flags != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  SetOp(std::make_shared<MemOpsOp>(std::vector<CUstreamBatchMemOpParams>(
            params.paramArray, params.paramArray + params.count)),
        work);
  return CUDA_SUCCESS;
}

CUresult MakeEvent(CUgraphNodeType type, CUevent event, NodeWork* work) {
  EventPtr found;
  const CUresult result = FindEvent(event, &found);
  if (result != CUDA_SUCCESS) return result;
  work->type = type;
  work->event = std::move(found);
  work->event_handle = event;
  return CUDA_SUCCESS;
}

CUresult MakeChild(CUgraph graph, NodeWork* work) {
  GraphPtr found;
  const CUresult result = FindGraph(graph, &found);
  if (result != CUDA_SUCCESS) return result;
  work->type = CU_GRAPH_NODE_TYPE_GRAPH;
  work->child = found->Clone(GraphOwner::kNode);
  return CUDA_SUCCESS;
}

CUresult MakeWork(const CUgraphNodeParams& params, NodeWork* work) {
  switch (params.type) {
    case CU_GRAPH_NODE_TYPE_KERNEL: {
      const CUDA_KERNEL_NODE_PARAMS_v3& from = params.kernel;
      return MakeKernel(
          {from.func, from.gridDimX, from.gridDimY, from.gridDimZ, from.blockDimX, from.blockDimY,
           from.blockDimZ, from.sharedMemBytes, from.kernelParams, from.extra, from.kern, from.ctx},
          work);
    }
    case CU_GRAPH_NODE_TYPE_MEMCPY:
      return MakeMemcpy(params.memcpy.copyParams, work);
    case CU_GRAPH_NODE_TYPE_MEMSET: {
      const CUDA_MEMSET_NODE_PARAMS_v2& from = params.memset;
      return MakeMemset(
          {from.dst, from.pitch, from.value, from.elementSize, from.width, from.height}, work);
    }
    case CU_GRAPH_NODE_TYPE_HOST:
      return MakeHost({params.host.fn, params.host.userData}, work);
    case CU_GRAPH_NODE_TYPE_GRAPH:
      if (params.graph.ownership != CU_GRAPH_CHILD_GRAPH_OWNERSHIP_CLONE) {
        return CUDA_ERROR_NOT_SUPPORTED;
      }
      return MakeChild(params.graph.graph, work);
    case CU_GRAPH_NODE_TYPE_EMPTY:
      *work = {};
      return CUDA_SUCCESS;
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
      return MakeEvent(params.type, params.eventWait.event, work);
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
      return MakeEvent(params.type, params.eventRecord.event, work);
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP: {
      const CUDA_BATCH_MEM_OP_NODE_PARAMS_v2& from = params.memOp;
      return MakeMemOps({from.ctx, from.count, from.paramArray, from.flags}, work);
    }
    default:
      return CUDA_ERROR_NOT_SUPPORTED;
  }
}

bool MakeCaptured(const OpPtr& op, NodeWork* work) {
  if (TypeOf(op->kind()) == CU_GRAPH_NODE_TYPE_EMPTY) return false;
  SetOp(op, work);
  return true;
}

void ReadKernel(const NodeWork& work, CUDA_KERNEL_NODE_PARAMS_v2* params) {
  const KernelOp& op = static_cast<const KernelOp&>(*work.op);
  const LaunchShape& shape = op.shape();
  *params = {};
  const CUkernel kernel = reinterpret_cast<CUkernel>(op.handle());
  if (Kernels().FindQuietly(kernel)) {
    params->kern = kernel;
  } else {
    params->func = op.handle();
  }
  params->gridDimX = shape.grid.x;
  params->gridDimY = shape.grid.y;
  params->gridDimZ = shape.grid.z;
  params->blockDimX = shape.block.x;
  params->blockDimY = shape.block.y;
  params->blockDimZ = shape.block.z;
  params->sharedMemBytes = shape.shared_bytes;
  params->kernelParams = op.param_pointers();
}

void ReadMemcpy(const NodeWork& work, CUDA_MEMCPY3D* params) {
  const CopyShape& shape = static_cast<const MemcpyOp&>(*work.op).shape();
  *params = {};
  CUarray array = nullptr;
  if (const memory::ArrayPtr found = memory::FindArrayAt(shape.src, &array)) {
    params->srcMemoryType = CU_MEMORYTYPE_ARRAY;
    params->srcArray = array;
    PlaceIn(*found, shape.src, &params->srcXInBytes, &params->srcY, &params->srcZ);
  } else {
    params->srcMemoryType = TypeOf(shape.src);
    if (params->srcMemoryType == CU_MEMORYTYPE_HOST) {
      params->srcHost = shape.src;
    } else {
      params->srcDevice = reinterpret_cast<CUdeviceptr>(shape.src);
    }
    params->srcPitch = shape.src_pitch;
    params->srcHeight = shape.src_pitch != 0 ? shape.src_slice / shape.src_pitch : 0;
  }
  if (const memory::ArrayPtr found = memory::FindArrayAt(shape.dst, &array)) {
    params->dstMemoryType = CU_MEMORYTYPE_ARRAY;
    params->dstArray = array;
    PlaceIn(*found, shape.dst, &params->dstXInBytes, &params->dstY, &params->dstZ);
  } else {
    params->dstMemoryType = TypeOf(shape.dst);
    if (params->dstMemoryType == CU_MEMORYTYPE_HOST) {
      params->dstHost = shape.dst;
    } else {
      params->dstDevice = reinterpret_cast<CUdeviceptr>(shape.dst);
    }
    params->dstPitch = shape.dst_pitch;
    params->dstHeight = shape.dst_pitch != 0 ? shape.dst_slice / shape.dst_pitch : 0;
  }
  params->WidthInBytes = shape.width;
  params->Height = shape.height;
  params->Depth = shape.depth;
}

void ReadMemset(const NodeWork& work, CUDA_MEMSET_NODE_PARAMS_v1* params) {
  const FillShape& shape = static_cast<const MemsetOp&>(*work.op).shape();
  *params = {reinterpret_cast<CUdeviceptr>(shape.dst),  shape.pitch, shape.value,
             static_cast<unsigned>(shape.element_size), shape.width, shape.height};
}

void ReadHost(const NodeWork& work, CUDA_HOST_NODE_PARAMS_v1* params) {
  const HostFuncOp& op = static_cast<const HostFuncOp&>(*work.op);
  *params = {op.fn(), op.user_data()};
}

void ReadMemOps(const NodeWork& work, CUDA_BATCH_MEM_OP_NODE_PARAMS_v1* params) {
  const MemOpsOp& op = static_cast<const MemOpsOp&>(*work.op);
  *params = {};
  params->count = static_cast<unsigned>(op.params().size());
  params->paramArray = const_cast<CUstreamBatchMemOpParams*>(op.params().data());
}

}  // namespace simcuda::graphs
