#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "runtime/observe/encoded_addresses.h"
#include "runtime/observe/knowledge.h"
#include "runtime/observe/launch_shape.h"

namespace vramspan {
namespace {

// Graphs hold child graphs by value, so that they end; this is more than anybody nests.
constexpr int kMostLevels = 64;

NodeWork TakeWork(Submission&& from) {
  NodeWork work = {.touches = std::move(from.touches),
                   .host_copies = std::move(from.host_copies),
                   .incomplete = from.incomplete || from.kind == Submission::Kind::kUnknown};
  if (from.kernel != nullptr) {
    const KernelCode& code = *from.kernel;
    const bool depends = !code.verdict.given.empty();
    NodeKernel kernel = {.code = &code, .given = depends ? from.given() : 0};
    // An answer that comes from here on is for those that are kept.
    const bool may_be_answered = code.trust() < Trust::kProven && code.MayBeAnswered();
    kernel.proven = code.depends() && code.ProvenBy(from.parameters);
    if (may_be_answered && !kernel.proven) kernel.parameters = KeptParameters::Of(from.parameters);
    work.kernels.push_back(std::move(kernel));
  }
  return work;
}

NodeWork Unreadable() { return {.incomplete = true}; }

// The nodes of a graph; false where the driver does not tell them.
bool NodesOf(const Driver& driver, CUgraph graph, std::vector<CUgraphNode>* nodes) {
  size_t count = 0;
  if (driver->GraphGetNodes(graph, nullptr, &count) != CUDA_SUCCESS) return false;
  nodes->resize(count);
  if (count == 0) return true;
  if (driver->GraphGetNodes(graph, nodes->data(), &count) != CUDA_SUCCESS) return false;
  nodes->resize(std::min(nodes->size(), count));
  return true;
}

// Reads a node's parameters with one of the driver's queries and decodes them.
template <typename Params, typename Query>
NodeWork Read(Knowledge& known, CUgraphNode node, Query query) {
  Params params{};
  return query(node, &params) == CUDA_SUCCESS ? DecodeNode(known, params) : Unreadable();
}

// False where the driver does not know of such nodes: then there are none.
bool IsDeviceUpdatable(const DriverApi& api, CUgraphNode node) {
  CUkernelNodeAttrValue value{};
  return api.GraphKernelNodeGetAttribute(node, CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE,
                                         &value) == CUDA_SUCCESS &&
         value.deviceUpdatableKernelNode.deviceUpdatable != 0;
}

NodeWork ReadKernelNode(Knowledge& known, CUgraphNode node) {
  const DriverApi& api = known.driver->api();
  auto work = Read<CUDA_KERNEL_NODE_PARAMS>(known, node, api.GraphKernelNodeGetParams);
  if (IsDeviceUpdatable(api, node)) work.device_updatable = work.incomplete = true;
  return work;
}

void AddAll(NodeWork&& from, NodeWork* to) {
  to->touches.insert(to->touches.end(), from.touches.begin(), from.touches.end());
  to->host_copies.insert(to->host_copies.end(), from.host_copies.begin(), from.host_copies.end());
  std::move(from.encoded.begin(), from.encoded.end(), std::back_inserter(to->encoded));
  to->incomplete |= from.incomplete;
  to->device_updatable |= from.device_updatable;
  to->kernels.insert(to->kernels.end(), from.kernels.begin(), from.kernels.end());
}

NodeWork ReadNode(Knowledge& known, CUgraphNode node, int level);

NodeWork ReadAsOne(Knowledge& known, CUgraph graph, int level) {
  std::vector<CUgraphNode> nodes;
  if (level > kMostLevels || !NodesOf(*known.driver, graph, &nodes)) return Unreadable();
  NodeWork all;
  for (CUgraphNode node : nodes) AddAll(ReadNode(known, node, level), &all);
  return all;
}

NodeWork ReadNode(Knowledge& known, CUgraphNode node, int level) {
  const DriverApi& api = known.driver->api();
  CUgraphNodeType type{};
  if (api.GraphNodeGetType(node, &type) != CUDA_SUCCESS) return Unreadable();
  switch (type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
      return ReadKernelNode(known, node);
    case CU_GRAPH_NODE_TYPE_MEMCPY:
      return Read<CUDA_MEMCPY3D>(known, node, api.GraphMemcpyNodeGetParams);
    case CU_GRAPH_NODE_TYPE_MEMSET:
      return Read<CUDA_MEMSET_NODE_PARAMS>(known, node, api.GraphMemsetNodeGetParams);
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
      return Read<CUDA_BATCH_MEM_OP_NODE_PARAMS>(known, node, api.GraphBatchMemOpNodeGetParams);
    case CU_GRAPH_NODE_TYPE_GRAPH: {
      CUgraph child = nullptr;
      if (api.GraphChildGraphNodeGetGraph(node, &child) != CUDA_SUCCESS) return Unreadable();
      return ReadAsOne(known, child, level + 1);
    }
    case CU_GRAPH_NODE_TYPE_HOST:
    case CU_GRAPH_NODE_TYPE_EMPTY:
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL:
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT:
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
    case CU_GRAPH_NODE_TYPE_MEM_FREE:
      return {};
    default:
      return Unreadable();
  }
}

// From the two generations of the structs, which name their fields alike.
template <typename Params>
NodeWork DecodeKernelNode(Knowledge& known, const Params& params, const void* kernel) {
  Submission work;
  TakeShape(params, &work);
  DecodeKernel(known, kernel, params.kernelParams, params.extra, &work);
  // A node that the driver shows without its parameters.
  if (params.kernelParams == nullptr && params.extra == nullptr &&
      !known.layouts.Of(kernel).runs.empty()) {
    work.incomplete = true;
  }
  std::vector<char> scratch;
  const absl::Span<const char> block = work.parameters.Block(&scratch);
  std::vector<EncodedParameters> encoded;
  if (EncodedAddresses::MayHold(block, known.arenas.set())) {
    encoded.push_back({{block.begin(), block.end()}, work.touches});
  }
  NodeWork node = TakeWork(std::move(work));
  node.encoded = std::move(encoded);
  return node;
}

template <typename Params>
NodeWork DecodeMemset(Knowledge& known, const Params& params) {
  Submission work;
  work.kind = Submission::Kind::kCopy;
  AddRows(known, params.dst, params.pitch, params.width * params.elementSize, params.height,
          /*write=*/true, &work);
  return TakeWork(std::move(work));
}

}  // namespace

NodeWork DecodeNode(Knowledge& known, const CUDA_KERNEL_NODE_PARAMS& params) {
  const void* const kernel = params.func != nullptr ? static_cast<const void*>(params.func)
                                                    : static_cast<const void*>(params.kern);
  return DecodeKernelNode(known, params, kernel);
}
NodeWork DecodeNode(Knowledge& known, const CUDA_KERNEL_NODE_PARAMS_v1& params) {
  return DecodeKernelNode(known, params, params.func);
}
NodeWork DecodeNode(Knowledge& known, const CUDA_MEMCPY3D& params) {
  Submission work;
  work.kind = Submission::Kind::kCopy;
  AddPitchedCopy(known, MakePitchedCopy(params), &work);
  return TakeWork(std::move(work));
}
NodeWork DecodeNode(Knowledge& known, const CUDA_MEMSET_NODE_PARAMS& params) {
  return DecodeMemset(known, params);
}
NodeWork DecodeNode(Knowledge& known, const CUDA_BATCH_MEM_OP_NODE_PARAMS& params) {
  Submission work;
  work.kind = Submission::Kind::kCopy;
  AddStreamOps(known, params.paramArray, params.count, &work);
  return TakeWork(std::move(work));
}

NodeWork DecodeNode(Knowledge& known, const CUgraphNodeParams& params) {
  switch (params.type) {
    case CU_GRAPH_NODE_TYPE_KERNEL: {
      const auto& p = params.kernel;
      return DecodeKernelNode(
          known, p,
          p.func != nullptr ? static_cast<const void*>(p.func) : static_cast<const void*>(p.kern));
    }
    case CU_GRAPH_NODE_TYPE_MEMCPY:
      return DecodeNode(known, params.memcpy.copyParams);
    case CU_GRAPH_NODE_TYPE_MEMSET:
      return DecodeMemset(known, params.memset);
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP: {
      Submission work;
      work.kind = Submission::Kind::kCopy;
      AddStreamOps(known, params.memOp.paramArray, params.memOp.count, &work);
      return TakeWork(std::move(work));
    }
    case CU_GRAPH_NODE_TYPE_GRAPH:
      return ReadChildGraph(known, params.graph.graph);
    case CU_GRAPH_NODE_TYPE_CONDITIONAL:
      return Unreadable();
    default:
      return {};  // Host functions, events, semaphores: no memory.
  }
}

NodeWorks ReadGraph(Knowledge& known, CUgraph graph) {
  NodeWorks works;
  std::vector<CUgraphNode> nodes;
  if (!NodesOf(*known.driver, graph, &nodes)) {
    works[nullptr] = Unreadable();
    return works;
  }
  for (CUgraphNode node : nodes) works[node] = ReadNode(known, node, 0);
  return works;
}

NodeWork ReadChildGraph(Knowledge& known, CUgraph graph) { return ReadAsOne(known, graph, 1); }

}  // namespace vramspan
