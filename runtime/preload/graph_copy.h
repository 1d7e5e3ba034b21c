// Copies of the program's graphs, which it may destroy once it has made executable ones of them,
// and segments of such copies.
//
// Threads: as the driver's graphs: one at a time for each. Calls are the driver's own, past hooks.
#ifndef VRAMSPAN_RUNTIME_PRELOAD_GRAPH_COPY_H_
#define VRAMSPAN_RUNTIME_PRELOAD_GRAPH_COPY_H_

#include <absl/types/span.h>

#include <utility>
#include <vector>

#include "runtime/preload/cuda_api.h"

namespace vramspan::preload {

// The nodes of a graph in an order in which they may run, one after the other. Empty where the
// driver does not tell, and where some may have to run at the same time: nodes of several contexts
// (collectives over devices), those that wait for something other than nodes, edges that order no
// more than launches.
std::vector<CUgraphNode> NodesInOrder(CUgraph graph);

class GraphCopy {
 public:
  GraphCopy() = default;
  ~GraphCopy() { Destroy(); }
  GraphCopy(GraphCopy&& o) noexcept
      : graph_(std::exchange(o.graph_, nullptr)), nodes_(std::move(o.nodes_)) {}
  GraphCopy& operator=(GraphCopy&& o) noexcept;

  // A copy of a graph that has these nodes, and theirs in their order. None (graph() is null) where
  // the driver does not copy all of it, as with nodes that allocate.
  static GraphCopy Of(CUgraph graph, absl::Span<const CUgraphNode> nodes);
  GraphCopy Copy() const { return Of(graph_, nodes_); }

  CUgraph graph() const { return graph_; }
  absl::Span<const CUgraphNode> nodes() const { return nodes_; }

  // Takes the graph apart into one for each of `ends`, with the nodes up to there, in order. What
  // depends on a node of an earlier segment does so no more: who launches them in order keeps that.
  // Empty where the driver refuses.
  static std::vector<GraphCopy> Split(GraphCopy whole, absl::Span<const size_t> ends);

 private:
  void Destroy();
  // Leaves the nodes [first, last).
  bool Keep(size_t first, size_t last);
  static bool SplitInto(GraphCopy whole, size_t first, absl::Span<const size_t> ends,
                        std::vector<GraphCopy>* segments);

  CUgraph graph_ = nullptr;
  std::vector<CUgraphNode> nodes_;
};

}  // namespace vramspan::preload

#endif  // VRAMSPAN_RUNTIME_PRELOAD_GRAPH_COPY_H_
