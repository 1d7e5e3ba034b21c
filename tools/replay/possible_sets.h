// What a recorded launch may touch beside what it most likely does. The trace tells it. Of traces
// that do not (before version 2), it is all other chunks of the allocations that the launch names.
//
// Threads: one.
#ifndef VRAMSPAN_TOOLS_REPLAY_POSSIBLE_SETS_H_
#define VRAMSPAN_TOOLS_REPLAY_POSSIBLE_SETS_H_

#include <optional>
#include <vector>

#include "tools/replay/chunked_run.h"

namespace vramspan::replay {

class PossibleSets {
 public:
  struct Uses {
    std::vector<ChunkUse> stay;         // Where they are, while the launch runs.
    std::vector<ChunkUse> mapped_only;  // These may move beside it, mapped all the while.
  };

  // `chunks` outlives it. `loose`: what is behind an end that has proved itself may move; of a
  // trace that does not tell which, everything.
  PossibleSets(const ChunkedRun* chunks, bool loose)
      : chunks_(*chunks), loose_(loose), sets_(chunks->run().sets()) {}

  // By set of ranges; good as long as this.
  const Uses& Of(uint32_t set) {
    if (!sets_[set].has_value()) sets_[set] = Find(set);
    return *sets_[set];
  }

 private:
  Uses Find(uint32_t set) const;

  const ChunkedRun& chunks_;
  const bool loose_;
  std::vector<std::optional<Uses>> sets_;
};

}  // namespace vramspan::replay

#endif  // VRAMSPAN_TOOLS_REPLAY_POSSIBLE_SETS_H_
