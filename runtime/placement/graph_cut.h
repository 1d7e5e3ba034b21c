// Where a graph is cut whose memory does not fit on the device beside another's.
//
// A graph is launched as one piece of work, so that all its memory must be there at once. Cut into
// segments that are launched one after the other, it needs little at a time: while one segment
// runs, the memory of those behind it comes.
//
// Pure.
#ifndef VRAMSPAN_RUNTIME_PLACEMENT_GRAPH_CUT_H_
#define VRAMSPAN_RUNTIME_PLACEMENT_GRAPH_CUT_H_

#include <absl/types/span.h>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "runtime/base/units.h"

namespace vramspan {

// Of the device budget. A graph of at most half leaves room for what comes next to be fetched
// beside it, and is not cut.
inline constexpr uint64_t kWholeOfBudget = 2;
// A segment takes this part of the budget, so that many may be on their way beside those that run.
inline constexpr uint64_t kSegmentOfBudget = 32;
// But no less than takes the link a millisecond, against some 20 us that a launch and its release
// take. Where the budget is small, a quarter of it.
inline constexpr Bytes kLeastSegment = MiB(64);
inline constexpr uint64_t kMostOfBudget = 4;

// Whether memory of so many bytes is to be cut.
bool ToBeCut(Bytes set, Bytes budget);

// The nodes in an order in which they may run, each as early as it stands among them. `edges`: from
// a node to one that depends on it, by number. Empty where some wait for each other, or an edge
// names none.
std::vector<uint32_t> OrderOfNodes(size_t nodes,
                                   absl::Span<const std::pair<uint32_t, uint32_t>> edges);

// What a node touches: pieces of memory of one size, each once, by number.
using NodePieces = std::vector<uint64_t>;

// For each segment, how many nodes lie before its end; the last is all of them. One: it stays
// whole. Nodes are in the order in which they run.
std::vector<size_t> CutGraph(absl::Span<const NodePieces> nodes, Bytes piece, Bytes budget);

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_PLACEMENT_GRAPH_CUT_H_
