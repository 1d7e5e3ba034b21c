// What is found out once of each set of ranges that recorded work names: what a launch may touch
// beside what it most likely does, and a hash. The trace tells the former. Of traces that do not
// (before version 2), it is all other chunks of the allocations that the launch names.
//
// Threads: one.
#ifndef VRAMSPAN_TOOLS_REPLAY_KNOWN_SETS_H_
#define VRAMSPAN_TOOLS_REPLAY_KNOWN_SETS_H_

#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "tools/replay/chunked_run.h"

namespace vramspan::replay {

class KnownSets {
 public:
  struct Uses {
    std::vector<ChunkUse> stay;         // Where they are, while the launch runs.
    std::vector<ChunkUse> mapped_only;  // These may move beside it, mapped all the while.
  };

  // `chunks` outlives it.
  explicit KnownSets(const ChunkedRun* chunks)
      : chunks_(*chunks), sets_(chunks->run().sets()), named_in_(chunks->end()) {}

  // By set of ranges; good as long as this. `loose`: what is behind an end that has proved itself
  // may move; of a trace that does not tell which, everything.
  const Uses& PossibleOf(uint32_t set, bool loose) {
    std::optional<Uses>& possible = sets_[set].possible[loose ? 1 : 0];
    if (!possible.has_value()) possible = FindPossible(set, loose);
    return *possible;
  }
  uint64_t HashOf(uint32_t set);  // Sequence's, of its uses.

 private:
  // Of a chunk or an allocation: what may be done to it.
  struct Possible {
    bool write = false;
    bool settled = true;

    void Add(const Possible& more) {
      write |= more.write;
      settled &= more.settled;
    }
  };
  struct Set {
    std::array<std::optional<Uses>, 2> possible;  // Loose ones second.
    uint64_t hash = 0;                            // 0: not known yet.
  };
  Uses FindPossible(uint32_t set, bool loose);
  // All that there is, in the order of the chunks.
  std::vector<std::pair<ChunkIndex, Possible>> Reachable(uint32_t set) const;

  const ChunkedRun& chunks_;
  std::vector<Set> sets_;
  // By chunk: one more than the last set that was found to name it.
  std::vector<uint32_t> named_in_;
};

}  // namespace vramspan::replay

#endif  // VRAMSPAN_TOOLS_REPLAY_KNOWN_SETS_H_
