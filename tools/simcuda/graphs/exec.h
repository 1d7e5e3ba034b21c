#ifndef VRAMSPAN_TOOLS_SIMCUDA_GRAPHS_EXEC_H_
#define VRAMSPAN_TOOLS_SIMCUDA_GRAPHS_EXEC_H_

// Executable graphs. One holds a private copy of the graph it was made from; a launch runs a flat
// list of that copy's ops as one op of its stream. The list does not change: an update makes
// another one for the launches that follow. Launches of one executable graph run one after the
// other.

#include <cuda.h>

#include <memory>
#include <vector>

#include "tools/simcuda/graphs/graph.h"
#include "tools/simcuda/progress.h"
#include "tools/simcuda/stream.h"

namespace simcuda::graphs {

struct Step {
  OpPtr op;
  EventPtr record;
  EventPtr wait;
};
using Program = std::vector<Step>;

class Exec {
 public:
  // CUDA_ERROR_INVALID_VALUE where the graph has a cycle.
  static CUresult Create(const Graph& graph, unsigned long long flags, std::shared_ptr<Exec>* exec)
      SIMCUDA_REQUIRES(graph_mutex);

  unsigned long long flags() const { return flags_; }
  const Graph& graph() const SIMCUDA_REQUIRES(graph_mutex) { return *graph_; }

  // Null where `origin` is no node of the graph that this was made from.
  Node* Find(CUgraphNode origin) SIMCUDA_REQUIRES(graph_mutex);
  // Replaces what a node does; CUDA_ERROR_INVALID_VALUE where the type would change.
  CUresult SetWork(Node& node, NodeWork work) SIMCUDA_REQUIRES(graph_mutex);
  void SetEnabled(Node& node, bool enabled) SIMCUDA_REQUIRES(graph_mutex);
  // Takes over what the nodes of a graph of the same shape do; all or nothing.
  CUresult Update(const Graph& graph, CUgraphExecUpdateResultInfo* info)
      SIMCUDA_REQUIRES(graph_mutex);

  // Puts one run into the stream.
  CUresult Launch(Stream& stream) SIMCUDA_EXCLUDES(graph_mutex);

 private:
  Exec(GraphPtr graph, unsigned long long flags) : graph_(std::move(graph)), flags_(flags) {}
  std::shared_ptr<const Program> CurrentProgram() SIMCUDA_REQUIRES(graph_mutex);

  const GraphPtr graph_;
  const unsigned long long flags_;
  std::shared_ptr<const Program> program_ SIMCUDA_GUARDED_BY(graph_mutex);  // null: out of date

  Mutex launch_mutex_;
  Ticket last_launch_ SIMCUDA_GUARDED_BY(launch_mutex_);
};
using ExecPtr = std::shared_ptr<Exec>;

HandleTable<CUgraphExec, Exec>& Execs();
CUresult FindExec(CUgraphExec handle, ExecPtr* exec);

// One launch. Capture turns it into a child graph node.
class GraphOp : public Op {
 public:
  GraphOp(GraphPtr graph, std::shared_ptr<const Program> program, Ticket after)
      : Op(OpKind::kGraph),
        graph_(std::move(graph)),
        program_(std::move(program)),
        after_(std::move(after)) {}

  const Graph& graph() const { return *graph_; }
  CUresult Run(const simcuda::Exec& exec) const override;
  void Skip(CUresult error) const override;

  // Before submission: takes what the event nodes wait for, and makes the records that they leave.
  void PrepareEvents(Stream& stream);
  // After it: lets the records be seen.
  void PublishEvents(const Ticket& ticket);

 private:
  const GraphPtr graph_;
  const std::shared_ptr<const Program> program_;
  const Ticket after_;
  std::vector<Ticket> waits_;                          // of each step
  std::vector<std::shared_ptr<EventRecord>> records_;  // of each step
};

}  // namespace simcuda::graphs

#endif  // VRAMSPAN_TOOLS_SIMCUDA_GRAPHS_EXEC_H_
