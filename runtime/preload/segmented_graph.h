// An executable graph of the program that may have more memory than fits beside another's. While
// memory is short it is launched as a chain of segments, which are graphs made of its nodes
// (placement/graph_cut.h says where it is cut). To all that watches launches the segments are the
// program's own: each is instantiated, launched and destroyed as a call of it would be.
//
// A segment follows the one before it in the stream, so that nodes run in an order that the whole
// graph allows. A launch waits for the one before it, in whatever stream that is, as the driver has
// it with launches of one executable graph. Launches of several such graphs in one stream do not
// mix; other work of other threads may come between two segments.
//
// Launched whole: where that is faster, unless the user says otherwise; while memory suffices, and
// once more then, so that segments are behind all earlier launches; where nodes may have to run at
// the same time, or the driver does not copy them (nodes that allocate); from a change on that
// cannot be made to a copy; in a capture.
//
// Threads: any; one lock, which is held over the launch: a graph is launched by one at a time. A
// lock of the stream is taken behind it, so that two such graphs never mix there.
#ifndef VRAMSPAN_RUNTIME_PRELOAD_SEGMENTED_GRAPH_H_
#define VRAMSPAN_RUNTIME_PRELOAD_SEGMENTED_GRAPH_H_

#include <absl/container/flat_hash_map.h>
#include <absl/functional/function_ref.h>

#include <memory>
#include <vector>

#include "runtime/base/mutex.h"
#include "runtime/placement/graph_choice.h"
#include "runtime/preload/graph_copy.h"
#include "runtime/preload/launch_times.h"

namespace vramspan::preload {

class SegmentedGraph {
 public:
  // Makes a call that the program could make: it is seen, and held, as one of the program's.
  using LaunchCall = absl::FunctionRef<CUresult(CUgraphExec)>;

  // Of what was just instantiated from `graph` with these flags. Null where it is never to be cut.
  static std::shared_ptr<SegmentedGraph> Make(CUgraphExec exec, CUgraph graph,
                                              unsigned long long flags);
  ~SegmentedGraph();
  SegmentedGraph(const SegmentedGraph&) = delete;
  SegmentedGraph& operator=(const SegmentedGraph&) = delete;

  // It was updated from `graph`.
  void Update(CUgraph graph) VS_EXCLUDES(mu_);
  // One node was given other parameters; `set` gives them to a node of a graph.
  void SetNode(CUgraphNode node, absl::FunctionRef<CUresult(CUgraphNode)> set) VS_EXCLUDES(mu_);
  // What was changed cannot be made to a copy.
  void StayWhole() VS_EXCLUDES(mu_);
  // Its context has gone, and what was made in it: nothing of that is destroyed any more.
  void Abandon() VS_EXCLUDES(mu_);
  CUcontext context() const { return context_; }

  // `stream`: null is the legacy default stream.
  CUresult Launch(CUstream stream, LaunchCall launch) VS_EXCLUDES(mu_);

 private:
  SegmentedGraph(CUgraphExec exec, CUcontext context, unsigned flags, bool chooses)
      : exec_(exec), context_(context), flags_(flags), chooses_(chooses) {}

  // Takes a copy of the graph that it was made of, or updated from; none where it is not to be cut.
  void Read(CUgraph graph) VS_REQUIRES(mu_);
  void StayWholeFromHere() VS_REQUIRES(mu_);
  // Whether it is to be launched in segments now. No call of the driver.
  bool ToBeCut() VS_REQUIRES(mu_);
  // Whether the segments are there, as the copy says.
  bool Ready(CUstream stream) VS_REQUIRES(mu_);
  bool MakeSegments(CUstream stream) VS_REQUIRES(mu_);
  void DropSegments(size_t kept) VS_REQUIRES(mu_);
  // How it is launched now that it may be cut.
  GraphWay Choose() VS_REQUIRES(mu_);
  CUresult LaunchSegments(LaunchCall launch) VS_REQUIRES(mu_);
  // Around a launch, once it was to be cut.
  void AwaitEarlier(CUstream stream) VS_REQUIRES(mu_);
  void NoteLaunch(CUstream stream) VS_REQUIRES(mu_);

  const CUgraphExec exec_;
  const CUcontext context_;
  const unsigned flags_;
  const bool chooses_;  // Else it is cut.
  Mutex mu_;
  bool whole_ VS_GUARDED_BY(mu_) = false;              // For good.
  std::vector<CUgraphNode> nodes_ VS_GUARDED_BY(mu_);  // As the program knows them, in order.
  GraphCopy copy_ VS_GUARDED_BY(mu_);
  absl::flat_hash_map<CUgraphNode, CUgraphNode> copies_ VS_GUARDED_BY(mu_);  // Of nodes_.
  std::vector<size_t> ends_ VS_GUARDED_BY(mu_);  // None: not asked for yet.
  bool changed_ VS_GUARDED_BY(mu_) = true;       // The segments are not what the copy says.
  std::vector<CUgraphExec> segments_ VS_GUARDED_BY(mu_);
  CUevent launched_ VS_GUARDED_BY(mu_) = nullptr;  // The last launch, once it was to be cut.
  GraphChoice choice_ VS_GUARDED_BY(mu_);
  LaunchTimes times_ VS_GUARDED_BY(mu_);
};

}  // namespace vramspan::preload

#endif  // VRAMSPAN_RUNTIME_PRELOAD_SEGMENTED_GRAPH_H_
