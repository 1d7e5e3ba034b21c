#include "tools/replay/possible_sets.h"

#include <absl/algorithm/container.h>

#include <map>

namespace vramspan::replay {
namespace {

// Of a chunk or an allocation: what may be done to it.
struct Possible {
  bool write = false;
  bool settled = true;

  void Add(bool more_write, bool more_settled) {
    write |= more_write;
    settled &= more_settled;
  }
};

}  // namespace

PossibleSets::Uses PossibleSets::Find(uint32_t set) const {
  const RecordedRun& run = chunks_.run();
  const bool told = run.setting.possible_told;
  const absl::Span<const ChunkIndex> named = chunks_.chunks(set);
  std::vector<ChunkIndex> likely(named.begin(), named.end());
  absl::c_sort(likely);
  // In the order of the chunks, which is that of the allocations.
  std::map<uint32_t, Possible> allocations;
  for (const RecordedRange& r : run.set(set)) {
    // A copy says itself which bytes it touches.
    if (!told || !r.exact) allocations[r.allocation].Add(r.write, !told || r.settled);
  }
  std::map<ChunkIndex, Possible> possible;
  for (const auto& [allocation, how] : allocations) {
    for (uint32_t i = 0; i < chunks_.count(allocation); ++i) {
      possible[ChunkIndex(chunks_.first(allocation).value + i)] = how;
    }
  }
  for (const RecordedRange& r : run.may_touch(set)) {
    chunks_.ForEachChunk(r, [&](ChunkIndex c) { possible[c].Add(r.write, r.settled); });
  }
  Uses uses;
  for (const auto& [chunk, how] : possible) {
    if (absl::c_binary_search(likely, chunk)) continue;
    const bool moves = loose_ && how.settled;
    (moves ? uses.mapped_only : uses.stay)
        .push_back({chunk, {.write = how.write, .possible = true, .mapped_only = moves}});
  }
  return uses;
}

}  // namespace vramspan::replay
