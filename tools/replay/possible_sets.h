// What a recorded launch may touch beside what it most likely does: all other chunks of the
// allocations that it names.
#ifndef VRAMSPAN_TOOLS_REPLAY_POSSIBLE_SETS_H_
#define VRAMSPAN_TOOLS_REPLAY_POSSIBLE_SETS_H_

#include <optional>
#include <vector>

#include "tools/replay/chunked_run.h"

namespace vramspan::replay {

class PossibleSets {
 public:
  explicit PossibleSets(const ChunkedRun* chunks) : chunks_(*chunks), sets_(chunks->run().sets()) {}

  // By set of ranges; good as long as this.
  absl::Span<const ChunkUse> Of(uint32_t set) {
    if (!sets_[set].has_value()) sets_[set] = Find(set);
    return *sets_[set];
  }

 private:
  std::vector<ChunkUse> Find(uint32_t set) const;

  const ChunkedRun& chunks_;
  std::vector<std::optional<std::vector<ChunkUse>>> sets_;
};

}  // namespace vramspan::replay

#endif  // VRAMSPAN_TOOLS_REPLAY_POSSIBLE_SETS_H_
