#include "runtime/placement/graph_cut.h"

#include <absl/container/flat_hash_set.h>

#include <algorithm>
#include <functional>
#include <queue>

namespace vramspan {

bool ToBeCut(Bytes set, Bytes budget) { return set.value > budget.value / kWholeOfBudget; }

std::vector<uint32_t> OrderOfNodes(size_t nodes,
                                   absl::Span<const std::pair<uint32_t, uint32_t>> edges) {
  std::vector<std::vector<uint32_t>> behind(nodes);
  std::vector<uint32_t> waits(nodes, 0);
  for (const auto& [from, to] : edges) {
    if (from >= nodes || to >= nodes) return {};
    behind[from].push_back(to);
    ++waits[to];
  }
  std::priority_queue<uint32_t, std::vector<uint32_t>, std::greater<>> ready;
  for (uint32_t i = 0; i < nodes; ++i) {
    if (waits[i] == 0) ready.push(i);
  }
  std::vector<uint32_t> order;
  while (!ready.empty()) {
    const uint32_t next = ready.top();
    ready.pop();
    order.push_back(next);
    for (const uint32_t i : behind[next]) {
      if (--waits[i] == 0) ready.push(i);
    }
  }
  if (order.size() != nodes) order.clear();
  return order;
}

std::vector<size_t> CutGraph(absl::Span<const NodePieces> nodes, Bytes piece, Bytes budget) {
  absl::flat_hash_set<uint64_t> set;
  for (const NodePieces& node : nodes) set.insert(node.begin(), node.end());
  if (!ToBeCut(piece * set.size(), budget)) return {nodes.size()};
  const Bytes segment = std::max(Bytes(budget.value / kSegmentOfBudget),
                                 std::min(kLeastSegment, Bytes(budget.value / kMostOfBudget)));
  std::vector<size_t> ends;
  set.clear();
  for (size_t i = 0; i < nodes.size(); ++i) {
    const size_t before = set.size();
    set.insert(nodes[i].begin(), nodes[i].end());
    // What needs nothing more goes along.
    if (set.size() == before || piece * set.size() <= segment) continue;
    if (before != 0) {
      ends.push_back(i);
      set.clear();
      set.insert(nodes[i].begin(), nodes[i].end());
    }
  }
  ends.push_back(nodes.size());
  return ends;
}

}  // namespace vramspan
