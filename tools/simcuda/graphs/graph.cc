#include "tools/simcuda/graphs/graph.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace simcuda::graphs {
namespace {

bool Contains(const std::vector<Node*>& nodes, const Node* node) {
  return std::find(nodes.begin(), nodes.end(), node) != nodes.end();
}

}  // namespace

bool Node::DependsOn(const Node& node) const { return Contains(dependencies_, &node); }

GraphPtr Graph::Create(GraphOwner owner) {
  GraphPtr graph(new Graph(owner));
  if (owner != GraphOwner::kExec) {
    graph->handle_ = Graphs().NewHandle();
    Graphs().InsertAs(graph->handle_, graph);
  }
  return graph;
}

Node& Graph::Add(NodeWork work, std::vector<Node*> dependencies) {
  auto node = std::make_shared<Node>(*this, std::move(work));
  node->dependencies_ = std::move(dependencies);
  if (owner_ != GraphOwner::kExec) {
    node->handle_ = Nodes().NewHandle();
    Nodes().InsertAs(node->handle_, node);
  }
  nodes_.push_back(node);
  return *node;
}

void Graph::Remove(Node& node) {
  for (const NodePtr& other : nodes_) std::erase(other->dependencies_, &node);
  Nodes().RemoveThis(node.handle_, &node);
  if (node.work_.child) node.work_.child->Retire();
  std::erase_if(nodes_, [&](const NodePtr& other) { return other.get() == &node; });
}

bool Graph::Connect(Node& from, Node& to) {
  if (Contains(to.dependencies_, &from)) return false;
  to.dependencies_.push_back(&from);
  return true;
}

bool Graph::Disconnect(Node& from, Node& to) { return std::erase(to.dependencies_, &from) != 0; }

bool Graph::Sort(std::vector<Node*>* order) const {
  // Depth first with a stack of its own: captured chains are as long as a program likes.
  enum class Mark { kNone, kOpen, kDone };
  std::unordered_map<const Node*, Mark> marks;
  std::vector<std::pair<Node*, size_t>> stack;
  order->clear();
  order->reserve(nodes_.size());
  for (const NodePtr& root : nodes_) {
    if (marks[root.get()] == Mark::kDone) continue;
    marks[root.get()] = Mark::kOpen;
    stack.emplace_back(root.get(), 0);
    while (!stack.empty()) {
      auto& [node, next] = stack.back();
      if (next == node->dependencies_.size()) {
        marks[node] = Mark::kDone;
        order->push_back(node);
        stack.pop_back();
        continue;
      }
      Node* dependency = node->dependencies_[next++];
      Mark& mark = marks[dependency];
      if (mark == Mark::kOpen) return false;
      if (mark == Mark::kDone) continue;
      mark = Mark::kOpen;
      stack.emplace_back(dependency, 0);
    }
  }
  return true;
}

GraphPtr Graph::Clone(GraphOwner owner) const {
  GraphPtr copy = Create(owner);
  std::unordered_map<const Node*, Node*> copies;
  for (const NodePtr& node : nodes_) {
    NodeWork work = node->work_;
    if (work.child) {
      work.child =
          work.child->Clone(owner == GraphOwner::kExec ? GraphOwner::kExec : GraphOwner::kNode);
    }
    Node& made = copy->Add(std::move(work), {});
    // The copy of an executable graph stands for the nodes of the graph that was instantiated.
    made.origin_ = node->handle_ != nullptr ? node->handle_ : node->origin_;
    made.enabled_ = node->enabled_;
    made.device_updatable_ = node->device_updatable_;
    copies[node.get()] = &made;
  }
  for (const NodePtr& node : nodes_) {
    for (const Node* dependency : node->dependencies_) {
      copies[node.get()]->dependencies_.push_back(copies[dependency]);
    }
  }
  return copy;
}

Node* Graph::FindCopyOf(CUgraphNode origin, bool recursive) const {
  for (const NodePtr& node : nodes_) {
    if (node->origin_ == origin) return node.get();
    if (!recursive || !node->work_.child) continue;
    Node* found = node->work_.child->FindCopyOf(origin, recursive);
    if (found != nullptr) return found;
  }
  return nullptr;
}

void Graph::Retire() {
  if (handle_ != nullptr) Graphs().RemoveThis(handle_, this);
  for (const NodePtr& node : nodes_) {
    if (node->handle_ != nullptr) Nodes().RemoveThis(node->handle_, node.get());
    if (node->work_.child) node->work_.child->Retire();
  }
}

HandleTable<CUgraph, Graph>& Graphs() {
  static auto* const table = new HandleTable<CUgraph, Graph>();
  return *table;
}

HandleTable<CUgraphNode, Node>& Nodes() {
  static auto* const table = new HandleTable<CUgraphNode, Node>();
  return *table;
}

CUresult FindGraph(CUgraph handle, GraphPtr* graph) {
  *graph = Graphs().Find(handle);
  return *graph ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult FindNode(CUgraphNode handle, NodePtr* node) {
  *node = Nodes().Find(handle);
  return *node ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult FindNodes(const Graph& graph, const CUgraphNode* handles, size_t count,
                   std::vector<Node*>* nodes) {
  if (count != 0 && handles == nullptr) return CUDA_ERROR_INVALID_VALUE;
  nodes->clear();
  for (size_t i = 0; i < count; ++i) {
    NodePtr node;
    const CUresult result = FindNode(handles[i], &node);
    if (result != CUDA_SUCCESS) return result;
    if (&node->graph() != &graph || Contains(*nodes, node.get())) return CUDA_ERROR_INVALID_VALUE;
    nodes->push_back(node.get());
  }
  return CUDA_SUCCESS;
}

}  // namespace simcuda::graphs
