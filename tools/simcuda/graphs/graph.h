#ifndef VRAMSPAN_TOOLS_SIMCUDA_GRAPHS_GRAPH_H_
#define VRAMSPAN_TOOLS_SIMCUDA_GRAPHS_GRAPH_H_

// Graphs: nodes of work and the order between them. One lock, graph_mutex, guards every graph,
// node, executable graph and capture of the process; it is held for moments and never while work
// runs.

#include <cuda.h>

#include <cstddef>
#include <memory>
#include <vector>

#include "tools/simcuda/event.h"
#include "tools/simcuda/handle_table.h"
#include "tools/simcuda/mutex.h"
#include "tools/simcuda/op.h"

namespace simcuda::graphs {

// Taken before the locks of streams, events and handle tables.
inline Mutex graph_mutex;

class Graph;
using GraphPtr = std::shared_ptr<Graph>;

// What a node does. The fields that the type does not need are empty.
struct NodeWork {
  CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
  OpPtr op;                        // kernel, copy, set, host function, memory operations
  EventPtr event;                  // event record and wait
  CUevent event_handle = nullptr;  // as given
  GraphPtr child;                  // a graph of the node's own
};

class Node {
 public:
  Node(Graph& graph, NodeWork work) : graph_(&graph), work_(std::move(work)) {}

  Graph& graph() const { return *graph_; }
  CUgraphNode handle() const { return handle_; }
  // In a copy of a graph: the node that this one is a copy of.
  CUgraphNode origin() const { return origin_; }
  const NodeWork& work() const { return work_; }
  void set_work(NodeWork work) { work_ = std::move(work); }
  const std::vector<Node*>& dependencies() const { return dependencies_; }
  bool DependsOn(const Node& node) const;
  bool enabled() const { return enabled_; }
  void set_enabled(bool enabled) { enabled_ = enabled; }
  // Whether kernels may give it other parameters; simcuda has no calls by which they would.
  bool device_updatable() const { return device_updatable_; }
  void MakeDeviceUpdatable() { device_updatable_ = true; }

 private:
  friend class Graph;

  Graph* const graph_;
  NodeWork work_;
  CUgraphNode handle_ = nullptr;
  CUgraphNode origin_ = nullptr;
  std::vector<Node*> dependencies_;
  bool enabled_ = true;
  bool device_updatable_ = false;
};
using NodePtr = std::shared_ptr<Node>;

// Who may destroy a graph.
enum class GraphOwner {
  kProgram,  // cuGraphDestroy
  kNode,     // the child graph of a node
  kCapture,  // a capture that has not ended
  kExec,     // the private copy of an executable graph: no handles
};

class Graph : public std::enable_shared_from_this<Graph> {
 public:
  static GraphPtr Create(GraphOwner owner) SIMCUDA_REQUIRES(graph_mutex);

  CUgraph handle() const { return handle_; }
  GraphOwner owner() const { return owner_; }
  void set_owner(GraphOwner owner) { owner_ = owner; }
  // In the order in which they were added.
  const std::vector<NodePtr>& nodes() const { return nodes_; }

  // The dependencies must be nodes of this graph.
  Node& Add(NodeWork work, std::vector<Node*> dependencies) SIMCUDA_REQUIRES(graph_mutex);
  void Remove(Node& node) SIMCUDA_REQUIRES(graph_mutex);
  // False where the edge is there already (Connect) or is not (Disconnect).
  bool Connect(Node& from, Node& to) SIMCUDA_REQUIRES(graph_mutex);
  bool Disconnect(Node& from, Node& to) SIMCUDA_REQUIRES(graph_mutex);

  // Nodes before those that depend on them, otherwise in the order of their making. False: a cycle.
  bool Sort(std::vector<Node*>* order) const SIMCUDA_REQUIRES(graph_mutex);

  // A copy down to child graphs, whose nodes name these as their origin.
  GraphPtr Clone(GraphOwner owner) const SIMCUDA_REQUIRES(graph_mutex);
  // The node that is a copy of `origin`, in child graphs too if asked; null when there is none.
  Node* FindCopyOf(CUgraphNode origin, bool recursive) const SIMCUDA_REQUIRES(graph_mutex);

  // Forgets the handles of the graph, its nodes and their child graphs.
  void Retire() SIMCUDA_REQUIRES(graph_mutex);

 private:
  explicit Graph(GraphOwner owner) : owner_(owner) {}

  GraphOwner owner_;
  CUgraph handle_ = nullptr;
  std::vector<NodePtr> nodes_;
};

HandleTable<CUgraph, Graph>& Graphs();
HandleTable<CUgraphNode, Node>& Nodes();

// CUDA_ERROR_INVALID_VALUE where the handle names none.
CUresult FindGraph(CUgraph handle, GraphPtr* graph);
CUresult FindNode(CUgraphNode handle, NodePtr* node);
// Also where a node is not in the graph, or is named twice.
CUresult FindNodes(const Graph& graph, const CUgraphNode* handles, size_t count,
                   std::vector<Node*>* nodes);

}  // namespace simcuda::graphs

#endif  // VRAMSPAN_TOOLS_SIMCUDA_GRAPHS_GRAPH_H_
