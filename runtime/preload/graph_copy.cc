#include "runtime/preload/graph_copy.h"

#include <absl/container/flat_hash_map.h>

#include <algorithm>
#include <cstdint>
#include <optional>

#include "runtime/placement/graph_cut.h"
#include "runtime/preload/resolver.h"

namespace vramspan::preload {
namespace {

// What takes graphs apart; a driver that has not all of it has them launched whole.
struct CopyCalls {
  decltype(&::cuGraphGetNodes) get_nodes;
  decltype(&::cuGraphGetEdges_v2) get_edges;  // Programmatic edges too.
  decltype(&::cuGraphClone) clone;
  decltype(&::cuGraphNodeFindInClone) find_in_clone;
  decltype(&::cuGraphDestroyNode) destroy_node;
  decltype(&::cuGraphDestroy) destroy;
  decltype(&::cuGraphNodeGetType) get_type;
  decltype(&::cuGraphKernelNodeGetParams_v2) get_kernel;
  decltype(&::cuGraphChildGraphNodeGetGraph) get_child;

  bool all() const {
    return get_nodes && get_edges && clone && find_in_clone && destroy_node && destroy &&
           get_type && get_kernel && get_child;
  }
  static const CopyCalls& Get() {
    static const CopyCalls calls = {
        DriverFunction<decltype(get_nodes)>("cuGraphGetNodes"),
        DriverFunction<decltype(get_edges)>("cuGraphGetEdges_v2"),
        DriverFunction<decltype(clone)>("cuGraphClone"),
        DriverFunction<decltype(find_in_clone)>("cuGraphNodeFindInClone"),
        DriverFunction<decltype(destroy_node)>("cuGraphDestroyNode"),
        DriverFunction<decltype(destroy)>("cuGraphDestroy"),
        DriverFunction<decltype(get_type)>("cuGraphNodeGetType"),
        DriverFunction<decltype(get_kernel)>("cuGraphKernelNodeGetParams_v2"),
        DriverFunction<decltype(get_child)>("cuGraphChildGraphNodeGetGraph"),
    };
    return calls;
  }
};

bool Nodes(CUgraph graph, std::vector<CUgraphNode>* nodes) {
  const CopyCalls& calls = CopyCalls::Get();
  size_t count = 0;
  if (calls.get_nodes(graph, nullptr, &count) != CUDA_SUCCESS) return false;
  nodes->resize(count);
  return count == 0 || calls.get_nodes(graph, nodes->data(), &count) == CUDA_SUCCESS;
}

bool Edges(CUgraph graph, std::vector<CUgraphNode>* from, std::vector<CUgraphNode>* to) {
  const CopyCalls& calls = CopyCalls::Get();
  size_t count = 0;
  if (calls.get_edges(graph, nullptr, nullptr, nullptr, &count) != CUDA_SUCCESS) return false;
  from->resize(count);
  to->resize(count);
  // Without it the driver refuses edges that have any.
  std::vector<CUgraphEdgeData> data(count);
  return count == 0 ||
         (calls.get_edges(graph, from->data(), to->data(), data.data(), &count) == CUDA_SUCCESS &&
          std::none_of(data.begin(), data.end(), [](const CUgraphEdgeData& edge) {
            return edge.from_port == CU_GRAPH_KERNEL_NODE_PORT_LAUNCH_ORDER;
          }));
}

bool OneByOne(const std::vector<CUgraphNode>& nodes, std::optional<CUcontext>* context);

// Whether the node may run alone, once those that it depends on have; of one context so far.
bool RunsAlone(CUgraphNode node, std::optional<CUcontext>* context) {
  const CopyCalls& calls = CopyCalls::Get();
  CUgraphNodeType type{};
  if (calls.get_type(node, &type) != CUDA_SUCCESS) return false;
  switch (type) {
    case CU_GRAPH_NODE_TYPE_KERNEL: {
      CUDA_KERNEL_NODE_PARAMS kernel{};
      if (calls.get_kernel(node, &kernel) != CUDA_SUCCESS) return false;
      if (!context->has_value()) *context = kernel.ctx;
      return **context == kernel.ctx;
    }
    case CU_GRAPH_NODE_TYPE_GRAPH: {
      CUgraph child = nullptr;
      std::vector<CUgraphNode> nodes;
      return calls.get_child(node, &child) == CUDA_SUCCESS && Nodes(child, &nodes) &&
             OneByOne(nodes, context);
    }
    case CU_GRAPH_NODE_TYPE_MEMCPY:
    case CU_GRAPH_NODE_TYPE_MEMSET:
    case CU_GRAPH_NODE_TYPE_HOST:
    case CU_GRAPH_NODE_TYPE_EMPTY:
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
      return true;
    default:
      return false;
  }
}

bool OneByOne(const std::vector<CUgraphNode>& nodes, std::optional<CUcontext>* context) {
  return std::all_of(nodes.begin(), nodes.end(),
                     [&](CUgraphNode node) { return RunsAlone(node, context); });
}

}  // namespace

std::vector<CUgraphNode> NodesInOrder(CUgraph graph) {
  std::vector<CUgraphNode> nodes, from, to;
  std::optional<CUcontext> context;
  if (!CopyCalls::Get().all() || !Nodes(graph, &nodes) || !OneByOne(nodes, &context) ||
      !Edges(graph, &from, &to)) {
    return {};
  }
  absl::flat_hash_map<CUgraphNode, uint32_t> numbers;
  for (uint32_t i = 0; i < nodes.size(); ++i) numbers[nodes[i]] = i;
  std::vector<std::pair<uint32_t, uint32_t>> edges;
  for (size_t i = 0; i < from.size(); ++i) {
    const auto start = numbers.find(from[i]), end = numbers.find(to[i]);
    if (start == numbers.end() || end == numbers.end()) return {};
    edges.emplace_back(start->second, end->second);
  }
  std::vector<CUgraphNode> ordered;
  for (const uint32_t i : OrderOfNodes(nodes.size(), edges)) ordered.push_back(nodes[i]);
  return ordered;
}

GraphCopy& GraphCopy::operator=(GraphCopy&& o) noexcept {
  std::swap(graph_, o.graph_);
  std::swap(nodes_, o.nodes_);
  return *this;
}

void GraphCopy::Destroy() {
  if (graph_ != nullptr) CopyCalls::Get().destroy(graph_);
  graph_ = nullptr;
}

GraphCopy GraphCopy::Of(CUgraph graph, absl::Span<const CUgraphNode> nodes) {
  const CopyCalls& calls = CopyCalls::Get();
  GraphCopy copy;
  if (!calls.all() || calls.clone(&copy.graph_, graph) != CUDA_SUCCESS) {
    copy.graph_ = nullptr;
    return copy;
  }
  for (const CUgraphNode node : nodes) {
    CUgraphNode found = nullptr;
    if (calls.find_in_clone(&found, node, copy.graph_) != CUDA_SUCCESS) return {};
    copy.nodes_.push_back(found);
  }
  return copy;
}

bool GraphCopy::Keep(size_t first, size_t last) {
  for (size_t i = 0; i < nodes_.size(); ++i) {
    if (i >= first && i < last) continue;
    if (CopyCalls::Get().destroy_node(nodes_[i]) != CUDA_SUCCESS) return false;
  }
  nodes_ = {nodes_.begin() + static_cast<ptrdiff_t>(first),
            nodes_.begin() + static_cast<ptrdiff_t>(last)};
  return true;
}

bool GraphCopy::SplitInto(GraphCopy whole, size_t first, absl::Span<const size_t> ends,
                          std::vector<GraphCopy>* segments) {
  if (ends.size() == 1) {
    segments->push_back(std::move(whole));
    return true;
  }
  // By halves, so that each node is copied as often as halves are made, and not by each segment.
  const size_t half = ends.size() / 2;
  const size_t cut = ends[half - 1] - first;
  GraphCopy behind = whole.Copy();
  const size_t count = whole.nodes_.size();
  return behind.graph_ != nullptr && behind.Keep(cut, count) && whole.Keep(0, cut) &&
         SplitInto(std::move(whole), first, ends.subspan(0, half), segments) &&
         SplitInto(std::move(behind), first + cut, ends.subspan(half), segments);
}

std::vector<GraphCopy> GraphCopy::Split(GraphCopy whole, absl::Span<const size_t> ends) {
  std::vector<GraphCopy> segments;
  if (!SplitInto(std::move(whole), 0, ends, &segments)) segments.clear();
  return segments;
}

}  // namespace vramspan::preload
