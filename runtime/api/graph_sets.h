// How much memory an executable graph takes, and which part of it each of its nodes: what it is cut
// by (placement/graph_cut.h).
//
// Threads: any.
#ifndef VRAMSPAN_RUNTIME_API_GRAPH_SETS_H_
#define VRAMSPAN_RUNTIME_API_GRAPH_SETS_H_

#include <absl/types/span.h>
#include <cuda.h>

#include <string_view>
#include <vector>

#include "runtime/api/extent_cache.h"
#include "runtime/base/status.h"
#include "runtime/memory/memory.h"
#include "runtime/observe/decoder.h"
#include "runtime/observe/hidden_pointers.h"
#include "runtime/observe/working_sets.h"
#include "runtime/placement/graph_cut.h"

namespace vramspan {

// How a graph is launched whose memory does not fit. kAuto: as was faster (GraphChoice).
enum class GraphLaunch : uint8_t { kAuto, kWhole, kCut };
// InvalidArgument names the text and lists what there is.
StatusOr<GraphLaunch> ParseGraphLaunch(std::string_view text);

class GraphSets {
 public:
  // All outlive it.
  GraphSets(Decoder* decoder, Memory* memory, WorkingSets* sets, const HiddenPointers* hidden)
      : graphs_(decoder->graphs()), memory_(*memory), sets_(*sets), hidden_(*hidden) {}

  // Whether all allocations that its nodes name may be more than is left whole.
  bool MayBeCut(CUgraphExec exec);
  // See CutGraph. `nodes`: in the order in which they run.
  std::vector<size_t> Cut(CUgraphExec exec, absl::Span<const CUgraphNode> nodes);

 private:
  // The likely ranges of one node, in pieces.
  NodePieces PiecesOf(const NodeWork& work);
  Extent ExtentOf(DevicePtr p) { return extents_.Find(memory_, p); }

  Graphs& graphs_;
  Memory& memory_;
  WorkingSets& sets_;
  const HiddenPointers& hidden_;
  ExtentCache extents_;
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_API_GRAPH_SETS_H_
