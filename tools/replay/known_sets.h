// What is found out once of each set of ranges that recorded work names: what a launch may touch
// beside what it most likely does (all other chunks of the allocations that it names), and a hash.
#ifndef VRAMSPAN_TOOLS_REPLAY_KNOWN_SETS_H_
#define VRAMSPAN_TOOLS_REPLAY_KNOWN_SETS_H_

#include <optional>
#include <vector>

#include "tools/replay/chunked_run.h"

namespace vramspan::replay {

class KnownSets {
 public:
  explicit KnownSets(const ChunkedRun* chunks)
      : chunks_(*chunks), sets_(chunks->run().sets()), named_in_(chunks->end()) {}

  // By set of ranges; good as long as this.
  absl::Span<const ChunkUse> PossibleOf(uint32_t set) {
    std::optional<std::vector<ChunkUse>>& possible = sets_[set].possible;
    if (!possible.has_value()) possible = FindPossible(set);
    return *possible;
  }
  uint64_t HashOf(uint32_t set);  // Sequence's, of its uses.

 private:
  struct Set {
    std::optional<std::vector<ChunkUse>> possible;
    uint64_t hash = 0;  // 0: not known yet.
  };
  std::vector<ChunkUse> FindPossible(uint32_t set);

  const ChunkedRun& chunks_;
  std::vector<Set> sets_;
  std::vector<uint32_t>
      named_in_;  // By chunk: one more than the last set that was found to name it.
};

}  // namespace vramspan::replay

#endif  // VRAMSPAN_TOOLS_REPLAY_KNOWN_SETS_H_
