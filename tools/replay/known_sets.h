// What a launch may touch beside what it most likely does, of each set of ranges that recorded work
// names. The trace tells it. Of traces that do not (before version 2), it is all other chunks of
// the allocations that the launch names.
//
// Threads: any, once it is made.
#ifndef VRAMSPAN_TOOLS_REPLAY_KNOWN_SETS_H_
#define VRAMSPAN_TOOLS_REPLAY_KNOWN_SETS_H_

#include <absl/types/span.h>

#include <utility>
#include <vector>

#include "tools/replay/chunked_run.h"

namespace vramspan::replay {

class KnownSets {
 public:
  struct Uses {
    absl::Span<const ChunkUse> stay;         // Where they are, while the launch runs.
    absl::Span<const ChunkUse> mapped_only;  // These may move beside it, mapped all the while.
  };

  // `chunks` outlives it. `loose`: what is behind an end that has proved itself may move; of a
  // trace that does not tell which, everything.
  KnownSets(const ChunkedRun* chunks, bool loose);

  // By set of ranges; good as long as this.
  Uses PossibleOf(uint32_t set) const {
    const auto all = absl::MakeConstSpan(uses_);
    const Set& s = sets_[set];
    return {all.subspan(s.stay, s.mapped_only - s.stay),
            all.subspan(s.mapped_only, sets_[set + 1].stay - s.mapped_only)};
  }

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
  // Where its uses begin.
  struct Set {
    size_t stay = 0, mapped_only = 0;
  };
  // All that there is, in the order of the chunks.
  std::vector<std::pair<ChunkIndex, Possible>> Reachable(uint32_t set) const;

  const ChunkedRun& chunks_;
  std::vector<Set> sets_;  // And one more.
  std::vector<ChunkUse> uses_;
};

}  // namespace vramspan::replay

#endif  // VRAMSPAN_TOOLS_REPLAY_KNOWN_SETS_H_
