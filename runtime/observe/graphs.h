// What executable graphs do when they are launched, by their handles.
//
// Taken from the graph's nodes when it is instantiated, again as a whole at every update from a
// graph, and by node where one node's parameters are set: those replace what is known of that node,
// if it is a node of the graph that was read last, and are added to it otherwise. Nodes that are
// switched off count as well. Nodes that nobody can read (conditional ones, those of types that are
// not known here) make the graph incomplete. So do kernels that the GPU may update: what another
// kernel sets in them is not seen. They stay so while the graph lives, whatever the program sets.
//
// A graph that the GPU may launch by itself makes every launch incomplete while it lives: any
// kernel may start it.
//
// Where parameters prove a node (KernelCode::ProvenBy) that is found out when it is decoded. For
// code that may still be read they are kept, and looked at by the first launch after the answer.
//
// Threads: any. The driver is asked outside of all locks, and only for what it tells in a capture
// as well.
#ifndef VRAMSPAN_RUNTIME_OBSERVE_GRAPHS_H_
#define VRAMSPAN_RUNTIME_OBSERVE_GRAPHS_H_

#include <absl/container/flat_hash_map.h>
#include <absl/types/span.h>
#include <cuda.h>

#include <atomic>
#include <memory>
#include <vector>

#include "runtime/base/mutex.h"
#include "runtime/observe/kept_parameters.h"
#include "runtime/observe/submission.h"

namespace vramspan {

struct Knowledge;

// The parameters of a kernel that may hold addresses in other forms (encoded_addresses.h). Where
// these lead is looked for at a launch: what lives where is not known when a graph is made.
struct EncodedParameters {
  std::vector<char> block;
  std::vector<Touch> named;  // What their slots show.
};

// Launches of a kernel by nodes.
struct NodeKernel {
  const KernelCode* code = nullptr;
  uint64_t given = 0;   // Submission::given; 0 where no trust depends on it.
  bool proven = false;  // By its parameters.
  // Of a node, while its code may still be read; null: that changes nothing.
  std::shared_ptr<const KeptParameters> parameters = nullptr;

  // Looks whether the code was read meanwhile. False: it may still be.
  bool Settle();
  auto operator<=>(const NodeKernel&) const = default;
};

// What one node does. A child graph is one node.
struct NodeWork {
  std::vector<Touch> touches;
  std::vector<HostCopy> host_copies;
  std::vector<EncodedParameters> encoded;
  std::vector<NodeKernel> kernels;
  bool incomplete = false;
  bool device_updatable = false;  // One of its kernels; then it is incomplete as well.
  uint64_t number = 0;  // Of all nodes of a graph together: no other has it. 0: of a node.
};
using NodeWorks = absl::flat_hash_map<CUgraphNode, NodeWork>;

// Reads the nodes of a graph. What cannot be read becomes a node that is incomplete; where not even
// the nodes are told, null stands for them.
NodeWorks ReadGraph(Knowledge& known, CUgraph graph);
// What a child graph does as a node.
NodeWork ReadChildGraph(Knowledge& known, CUgraph graph);

class Graphs {
 public:
  // The executable graph does what `works` say and nothing else.
  void Set(CUgraphExec exec, NodeWorks works, bool device_launch) VS_EXCLUDES(mu_);
  // As Set, of an update: who may launch it stays. Ignored for one that was never seen.
  void Update(CUgraphExec exec, NodeWorks works) VS_EXCLUDES(mu_);
  void SetNode(CUgraphExec exec, CUgraphNode node, NodeWork work) VS_EXCLUDES(mu_);
  void Forget(CUgraphExec exec) VS_EXCLUDES(mu_);

  // Adds what a launch does. False: the graph was never seen.
  bool Launch(CUgraphExec exec, Submission* out) VS_EXCLUDES(mu_);
  // What these nodes do, each by itself; nothing of one that is not known.
  std::vector<NodeWork> Nodes(CUgraphExec exec, absl::Span<const CUgraphNode> nodes)
      VS_EXCLUDES(mu_);
  bool any_device_launch() const { return device_launches_.load(std::memory_order_relaxed) != 0; }

 private:
  struct Exec {
    explicit Exec(bool device) : device_launch(device) {}

    const bool device_launch;
    Mutex mu;
    NodeWorks works VS_GUARDED_BY(mu);
    std::shared_ptr<const NodeWork> all VS_GUARDED_BY(mu);  // Of `works`; null: out of date.
    // Of `works`, those that had parameters when `all` was made.
    std::vector<const KernelCode*> to_settle VS_GUARDED_BY(mu);
  };

  std::shared_ptr<Exec> Find(CUgraphExec exec) VS_EXCLUDES(mu_);
  static std::shared_ptr<const NodeWork> AllOf(Exec& exec) VS_EXCLUDES(exec.mu);
  static bool UpToDate(const Exec& exec) VS_REQUIRES(exec.mu);

  Mutex mu_;
  absl::flat_hash_map<CUgraphExec, std::shared_ptr<Exec>> execs_ VS_GUARDED_BY(mu_);
  std::atomic<int> device_launches_{0};
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_OBSERVE_GRAPHS_H_
