#include "tools/replay/possible_sets.h"

#include <absl/algorithm/container.h>

#include <algorithm>

namespace vramspan::replay {

std::vector<ChunkUse> PossibleSets::Find(uint32_t set) const {
  const absl::Span<const ChunkIndex> named = chunks_.chunks(set);
  std::vector<ChunkIndex> sorted(named.begin(), named.end());
  absl::c_sort(sorted);
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
      if (!absl::c_binary_search(sorted, c)) {
        possible.push_back({c, {.write = write, .possible = true}});
      }
    }
  }
  return possible;
}

}  // namespace vramspan::replay
