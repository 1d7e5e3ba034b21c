// Graphs, their nodes and their edges.

#include "tools/simcuda/calls_graph.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "tools/simcuda/graphs/graph.h"
#include "tools/simcuda/graphs/session.h"

namespace simcuda::calls {

using graphs::Graph;
using graphs::graph_mutex;
using graphs::GraphOwner;
using graphs::GraphPtr;
using graphs::Node;
using graphs::NodePtr;

namespace {

// A capture fills the graph: its nodes must stay.
bool BeingCaptured(const Graph& graph) SIMCUDA_REQUIRES(graph_mutex) {
  for (const capture::SessionPtr& session : capture::Sessions()) {
    if (session->graph().get() == &graph) return true;
  }
  return false;
}

// Hands out handles in the way of all these calls: without an array the count alone; with one as
// many as there is room for, null behind the last.
CUresult HandOut(const std::vector<CUgraphNode>& found, CUgraphNode* out, size_t* count) {
  if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (out != nullptr) {
    const size_t given = std::min(*count, found.size());
    std::copy_n(found.begin(), given, out);
    std::fill(out + given, out + *count, nullptr);
    *count = given;
  } else {
    *count = found.size();
  }
  return CUDA_SUCCESS;
}

CUresult HandOut(const std::vector<CUgraphNode>& found, CUgraphNode* out, CUgraphEdgeData* edges,
                 size_t* count) {
  if (edges != nullptr && out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const CUresult result = HandOut(found, out, count);
  if (result == CUDA_SUCCESS && edges != nullptr) std::fill_n(edges, *count, CUgraphEdgeData{});
  return result;
}

// Both ends of every edge, once all are known to be the graph's.
CUresult FindEdges(CUgraph handle, const CUgraphNode* from, const CUgraphNode* to, size_t count,
                   GraphPtr* graph, std::vector<std::pair<NodePtr, NodePtr>>* edges) {
  CUresult result = FindGraph(handle, graph);
  if (result != CUDA_SUCCESS) return result;
  if (count != 0 && (from == nullptr || to == nullptr)) return CUDA_ERROR_INVALID_VALUE;
  for (size_t i = 0; i < count; ++i) {
    std::pair<NodePtr, NodePtr> edge;
    result = FindNode(from[i], &edge.first);
    if (result == CUDA_SUCCESS) result = FindNode(to[i], &edge.second);
    if (result != CUDA_SUCCESS) return result;
    if (&edge.first->graph() != graph->get() || &edge.second->graph() != graph->get() ||
        edge.first == edge.second) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    edges->push_back(std::move(edge));
  }
  return CUDA_SUCCESS;
}

}  // namespace

CUresult GraphCreate(CUgraph* graph, unsigned flags) {
  if (graph == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  MutexLock lock(graph_mutex);
  *graph = Graph::Create(GraphOwner::kProgram)->handle();
  return CUDA_SUCCESS;
}

CUresult GraphDestroy(CUgraph handle) {
  MutexLock lock(graph_mutex);
  GraphPtr graph;
  const CUresult result = FindGraph(handle, &graph);
  if (result != CUDA_SUCCESS) return result;
  if (graph->owner() != GraphOwner::kProgram || BeingCaptured(*graph)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  graph->Retire();
  return CUDA_SUCCESS;
}

CUresult GraphClone(CUgraph* clone, CUgraph original) {
  if (clone == nullptr) return CUDA_ERROR_INVALID_VALUE;
  MutexLock lock(graph_mutex);
  GraphPtr graph;
  const CUresult result = FindGraph(original, &graph);
  if (result == CUDA_SUCCESS) *clone = graph->Clone(GraphOwner::kProgram)->handle();
  return result;
}

CUresult GraphDestroyNode(CUgraphNode handle) {
  MutexLock lock(graph_mutex);
  NodePtr node;
  const CUresult result = FindNode(handle, &node);
  if (result != CUDA_SUCCESS) return result;
  if (BeingCaptured(node->graph()) || node->device_updatable()) return CUDA_ERROR_INVALID_VALUE;
  node->graph().Remove(*node);
  return CUDA_SUCCESS;
}

CUresult GraphNodeFindInClone(CUgraphNode* node, CUgraphNode original, CUgraph clone) {
  if (node == nullptr) return CUDA_ERROR_INVALID_VALUE;
  MutexLock lock(graph_mutex);
  GraphPtr graph;
  const CUresult result = FindGraph(clone, &graph);
  if (result != CUDA_SUCCESS) return result;
  const Node* found = graph->FindCopyOf(original, /*recursive=*/false);
  if (found == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *node = found->handle();
  return CUDA_SUCCESS;
}

CUresult GraphNodeGetType(CUgraphNode handle, CUgraphNodeType* type) {
  if (type == nullptr) return CUDA_ERROR_INVALID_VALUE;
  MutexLock lock(graph_mutex);
  NodePtr node;
  const CUresult result = FindNode(handle, &node);
  if (result == CUDA_SUCCESS) *type = node->work().type;
  return result;
}

CUresult GraphGetNodes(CUgraph handle, CUgraphNode* nodes, size_t* count) {
  MutexLock lock(graph_mutex);
  GraphPtr graph;
  const CUresult result = FindGraph(handle, &graph);
  if (result != CUDA_SUCCESS) return result;
  std::vector<CUgraphNode> found;
  for (const NodePtr& node : graph->nodes()) found.push_back(node->handle());
  return HandOut(found, nodes, count);
}

CUresult GraphGetRootNodes(CUgraph handle, CUgraphNode* nodes, size_t* count) {
  MutexLock lock(graph_mutex);
  GraphPtr graph;
  const CUresult result = FindGraph(handle, &graph);
  if (result != CUDA_SUCCESS) return result;
  std::vector<CUgraphNode> found;
  for (const NodePtr& node : graph->nodes()) {
    if (node->dependencies().empty()) found.push_back(node->handle());
  }
  return HandOut(found, nodes, count);
}

CUresult GraphGetEdges10000(CUgraph graph, CUgraphNode* from, CUgraphNode* to, size_t* count) {
  return GraphGetEdges(graph, from, to, nullptr, count);
}

CUresult GraphGetEdges(CUgraph handle, CUgraphNode* from, CUgraphNode* to, CUgraphEdgeData* edges,
                       size_t* count) {
  if (count == nullptr || (from == nullptr) != (to == nullptr)) return CUDA_ERROR_INVALID_VALUE;
  MutexLock lock(graph_mutex);
  GraphPtr graph;
  CUresult result = FindGraph(handle, &graph);
  if (result != CUDA_SUCCESS) return result;
  std::vector<CUgraphNode> starts;
  std::vector<CUgraphNode> ends;
  for (const NodePtr& node : graph->nodes()) {
    for (const Node* dependency : node->dependencies()) {
      starts.push_back(dependency->handle());
      ends.push_back(node->handle());
    }
  }
  size_t room = *count;
  result = HandOut(starts, from, &room);
  return result == CUDA_SUCCESS ? HandOut(ends, to, edges, count) : result;
}

CUresult GraphNodeGetDependencies10000(CUgraphNode node, CUgraphNode* nodes, size_t* count) {
  return GraphNodeGetDependencies(node, nodes, nullptr, count);
}

CUresult GraphNodeGetDependencies(CUgraphNode handle, CUgraphNode* nodes, CUgraphEdgeData* edges,
                                  size_t* count) {
  MutexLock lock(graph_mutex);
  NodePtr node;
  const CUresult result = FindNode(handle, &node);
  if (result != CUDA_SUCCESS) return result;
  std::vector<CUgraphNode> found;
  for (const Node* dependency : node->dependencies()) found.push_back(dependency->handle());
  return HandOut(found, nodes, edges, count);
}

CUresult GraphNodeGetDependentNodes10000(CUgraphNode node, CUgraphNode* nodes, size_t* count) {
  return GraphNodeGetDependentNodes(node, nodes, nullptr, count);
}

CUresult GraphNodeGetDependentNodes(CUgraphNode handle, CUgraphNode* nodes, CUgraphEdgeData* edges,
                                    size_t* count) {
  MutexLock lock(graph_mutex);
  NodePtr node;
  const CUresult result = FindNode(handle, &node);
  if (result != CUDA_SUCCESS) return result;
  std::vector<CUgraphNode> found;
  for (const NodePtr& other : node->graph().nodes()) {
    if (other->DependsOn(*node)) found.push_back(other->handle());
  }
  return HandOut(found, nodes, edges, count);
}

CUresult GraphAddDependencies10000(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to,
                                   size_t count) {
  return GraphAddDependencies(graph, from, to, nullptr, count);
}

CUresult GraphAddDependencies(CUgraph handle, const CUgraphNode* from, const CUgraphNode* to,
                              const CUgraphEdgeData* /*edge_data*/, size_t count) {
  MutexLock lock(graph_mutex);
  GraphPtr graph;
  std::vector<std::pair<NodePtr, NodePtr>> edges;
  const CUresult result = FindEdges(handle, from, to, count, &graph, &edges);
  if (result != CUDA_SUCCESS) return result;
  for (const auto& [start, end] : edges) {
    if (end->DependsOn(*start)) return CUDA_ERROR_INVALID_VALUE;
  }
  for (const auto& [start, end] : edges) graph->Connect(*start, *end);
  return CUDA_SUCCESS;
}

CUresult GraphRemoveDependencies10000(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to,
                                      size_t count) {
  return GraphRemoveDependencies(graph, from, to, nullptr, count);
}

CUresult GraphRemoveDependencies(CUgraph handle, const CUgraphNode* from, const CUgraphNode* to,
                                 const CUgraphEdgeData* /*edge_data*/, size_t count) {
  MutexLock lock(graph_mutex);
  GraphPtr graph;
  std::vector<std::pair<NodePtr, NodePtr>> edges;
  const CUresult result = FindEdges(handle, from, to, count, &graph, &edges);
  if (result != CUDA_SUCCESS) return result;
  for (const auto& [start, end] : edges) {
    if (!end->DependsOn(*start)) return CUDA_ERROR_INVALID_VALUE;
  }
  for (const auto& [start, end] : edges) graph->Disconnect(*start, *end);
  return CUDA_SUCCESS;
}

}  // namespace simcuda::calls
