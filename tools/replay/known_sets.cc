#include "tools/replay/known_sets.h"

#include <algorithm>

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

KnownSets::KnownSets(const ChunkedRun* chunks, bool loose) : chunks_(*chunks) {
  const uint32_t sets = chunks->run().sets();
  sets_.reserve(size_t{sets} + 1);
  // By chunk: one more than the last set that was found to name it.
  std::vector<uint32_t> named_in(chunks->end());
  std::vector<ChunkUse> mapped_only;
  for (uint32_t set = 0; set < sets; ++set) {
    for (const ChunkIndex chunk : chunks->chunks(set)) named_in[chunk.value] = set + 1;
    sets_.push_back({.stay = uses_.size()});
    mapped_only.clear();
    for (const auto& [chunk, how] : Reachable(set)) {
      if (named_in[chunk.value] == set + 1) continue;
      const bool moves = loose && how.settled;
      (moves ? mapped_only : uses_)
          .push_back(
              {chunk,
               {.write = how.write, .possible = true, .mapped_only = moves, .told = how.told}});
    }
    sets_.back().mapped_only = uses_.size();
    uses_.insert(uses_.end(), mapped_only.begin(), mapped_only.end());
  }
  sets_.push_back({.stay = uses_.size()});
  FindNeighbours();
}

void KnownSets::AllOf(uint32_t set, const Uses& possible, std::vector<ChunkUse>* all) const {
  const absl::Span<const ChunkUse> likely = chunks_.uses(set);
  all->assign(likely.begin(), likely.end());
  all->insert(all->end(), possible.stay.begin(), possible.stay.end());
  all->insert(all->end(), possible.mapped_only.begin(), possible.mapped_only.end());
}

void KnownSets::FindNeighbours() {
  struct Placed {
    DevicePtr base;
    Bytes bytes;
    Bytes size() const { return bytes; }
  };
  const auto placed = [this](ChunkIndex c) {
    const DevicePtr base = chunks_.run().allocations[chunks_.allocation(c)].base;
    return Placed{base + chunks_.offset(c), chunks_.size(c)};
  };
  std::vector<ChunkUse> all;
  UntouchedChunks untouched;
  for (uint32_t set = 0; set + 1 < sets_.size(); ++set) {
    const size_t stay = sets_[set].stay, end = sets_[set + 1].stay;
    AllOf(set, {.stay = absl::MakeConstSpan(uses_).subspan(stay, end - stay), .mapped_only = {}},
          &all);
    untouched.Find(all, placed, &sets_[set].neighbours);
  }
}

std::vector<std::pair<ChunkIndex, KnownSets::Possible>> KnownSets::Reachable(uint32_t set) const {
  const RecordedRun& run = chunks_.run();
  const bool told = run.setting.possible_told;
  std::vector<std::pair<uint32_t, Possible>> allocations;
  for (const RecordedRange& r : run.set(set)) {
    // A copy says itself which bytes it touches.
    if (told && r.exact) continue;
    allocations.push_back({r.allocation, {r.write, !told || r.settled, r.told}});
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
    chunks_.ForEachChunk(r, [&](ChunkIndex c) {
      reachable.push_back({c, {r.write, r.settled, r.told}});
    });
  }
  Merge(&reachable);
  return reachable;
}

}  // namespace vramspan::replay
