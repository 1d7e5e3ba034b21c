#include "tools/replay/known_sets.h"

#include <absl/algorithm/container.h>

#include <algorithm>

#include "runtime/scheduler/sequence.h"

namespace vramspan::replay {

uint64_t KnownSets::HashOf(uint32_t set) {
  uint64_t& hash = sets_[set].hash;
  if (hash == 0) hash = Sequence::HashOf(chunks_.uses(set));
  return hash;
}

std::vector<ChunkUse> KnownSets::FindPossible(uint32_t set) {
  for (const ChunkIndex chunk : chunks_.chunks(set)) named_in_[chunk.value] = set + 1;
  const bool write =
      absl::c_any_of(chunks_.uses(set), [](const ChunkUse& use) { return use.how.write; });
  std::vector<uint32_t> allocations;
  for (const RecordedRange& r : chunks_.run().set(set)) allocations.push_back(r.allocation);
  absl::c_sort(allocations);
  allocations.erase(std::unique(allocations.begin(), allocations.end()), allocations.end());
  std::vector<ChunkUse> possible;
  for (const uint32_t a : allocations) {
    for (uint32_t i = 0; i < chunks_.count(a); ++i) {
      const ChunkIndex c(chunks_.first(a).value + i);
      if (named_in_[c.value] == set + 1) continue;
      possible.push_back({c, {.write = write, .possible = true}});
    }
  }
  return possible;
}

}  // namespace vramspan::replay
