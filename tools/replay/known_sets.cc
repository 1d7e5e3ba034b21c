#include "tools/replay/known_sets.h"

#include <algorithm>

#include "runtime/scheduler/sequence.h"

namespace vramspan::replay {
namespace {

// Sorted by what they are of, each once.
template <typename Of, typename How>
void Merge(std::vector<std::pair<Of, How>>* all) {
  std::stable_sort(all->begin(), all->end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  size_t kept = 0;
  for (size_t i = 0; i < all->size(); ++i) {
    if (kept != 0 && (*all)[kept - 1].first == (*all)[i].first) {
      (*all)[kept - 1].second.Add((*all)[i].second);
    } else {
      (*all)[kept++] = (*all)[i];
    }
  }
  all->resize(kept);
}

}  // namespace

uint64_t KnownSets::HashOf(uint32_t set) {
  uint64_t& hash = sets_[set].hash;
  if (hash == 0) hash = Sequence::HashOf(chunks_.uses(set));
  return hash;
}

std::vector<std::pair<ChunkIndex, KnownSets::Possible>> KnownSets::Reachable(uint32_t set) const {
  const RecordedRun& run = chunks_.run();
  const bool told = run.setting.possible_told;
  std::vector<std::pair<uint32_t, Possible>> allocations;
  for (const RecordedRange& r : run.set(set)) {
    // A copy says itself which bytes it touches.
    if (told && r.exact) continue;
    allocations.push_back({r.allocation, {r.write, !told || r.settled}});
  }
  Merge(&allocations);
  std::vector<std::pair<ChunkIndex, Possible>> reachable;
  for (const auto& [allocation, how] : allocations) {
    for (uint32_t i = 0; i < chunks_.count(allocation); ++i) {
      reachable.push_back({ChunkIndex(chunks_.first(allocation).value + i), how});
    }
  }
  if (run.may_touch(set).empty()) return reachable;
  for (const RecordedRange& r : run.may_touch(set)) {
    chunks_.ForEachChunk(r, [&](ChunkIndex c) { reachable.push_back({c, {r.write, r.settled}}); });
  }
  Merge(&reachable);
  return reachable;
}

KnownSets::Uses KnownSets::FindPossible(uint32_t set, bool loose) {
  for (const ChunkIndex chunk : chunks_.chunks(set)) named_in_[chunk.value] = set + 1;
  Uses uses;
  for (const auto& [chunk, how] : Reachable(set)) {
    if (named_in_[chunk.value] == set + 1) continue;
    const bool moves = loose && how.settled;
    (moves ? uses.mapped_only : uses.stay)
        .push_back({chunk, {.write = how.write, .possible = true, .mapped_only = moves}});
  }
  return uses;
}

}  // namespace vramspan::replay
