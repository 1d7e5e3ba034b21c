// What a launch may touch beside what it most likely does, of each set of ranges that recorded work
// names. The trace tells it. Of traces that do not (before version 2), it is all other chunks of
// the allocations that the launch names. Where pointers to blocks lead there, memory that is
// nobody's when the launch is submitted is left out (untouched_chunks.h).
//
// Threads: any, once it is made.
#ifndef VRAMSPAN_TOOLS_REPLAY_KNOWN_SETS_H_
#define VRAMSPAN_TOOLS_REPLAY_KNOWN_SETS_H_

#include <absl/types/span.h>

#include <utility>
#include <vector>

#include "runtime/scheduler/untouched_chunks.h"
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

  // By set of ranges. `chunk_of`: the chunk of an index, as it is now. What may be left out by that
  // is in `*all` then; the rest is good as long as this.
  template <typename ChunkOf>
  Uses PossibleOf(uint32_t set, ChunkOf chunk_of, std::vector<ChunkUse>* all) const {
    const Set& s = sets_[set];
    const auto uses = absl::MakeConstSpan(uses_);
    const Uses whole = {uses.subspan(s.stay, s.mapped_only - s.stay),
                        uses.subspan(s.mapped_only, sets_[set + 1].stay - s.mapped_only)};
    if (s.neighbours.empty()) return whole;
    AllOf(set, whole, all);
    const size_t likely = all->size() - whole.stay.size() - whole.mapped_only.size();
    UntouchedChunks untouched;
    const size_t stay = untouched.LeaveOut(likely, whole.stay.size(), s.neighbours, chunk_of, all);
    const auto left = absl::MakeConstSpan(*all).subspan(likely);
    return {left.first(stay), left.subspan(stay)};
  }

 private:
  // Of a chunk or an allocation: what may be done to it.
  struct Possible {
    bool write = false;
    bool settled = true;
    bool told = true;

    void Add(const Possible& more) {
      write |= more.write;
      settled &= more.settled;
      told &= more.told;
    }
  };
  struct Set {
    size_t stay = 0, mapped_only = 0;  // Where its uses begin.
    std::vector<Neighbours> neighbours;
  };
  // All that there is, in the order of the chunks.
  std::vector<std::pair<ChunkIndex, Possible>> Reachable(uint32_t set) const;
  // What the set likely uses, and these behind it.
  void AllOf(uint32_t set, const Uses& possible, std::vector<ChunkUse>* all) const;
  void FindNeighbours();

  const ChunkedRun& chunks_;
  std::vector<Set> sets_;  // And one more.
  std::vector<ChunkUse> uses_;
};

}  // namespace vramspan::replay

#endif  // VRAMSPAN_TOOLS_REPLAY_KNOWN_SETS_H_
