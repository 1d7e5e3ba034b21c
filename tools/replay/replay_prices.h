// What things cost on the device that a replay pretends to have. The defaults were measured on an
// H100 over PCIe 5; an H200's are in docs/findings/0003-what-a-remap-costs.md. `vramspan info`
// measures the same figures elsewhere.
#ifndef VRAMSPAN_TOOLS_REPLAY_REPLAY_PRICES_H_
#define VRAMSPAN_TOOLS_REPLAY_REPLAY_PRICES_H_

#include <array>
#include <cstdint>

#include "runtime/base/units.h"
#include "runtime/placement/prices.h"

namespace vramspan::replay {

// The calls on a mapping, in microseconds.
struct MapCosts {
  double map = 0, access = 0, unmap = 0;
  double create = 0, release = 0;  // Chunks' memory is used again for chunks of the same size.
};

struct ReplayPrices {
  // GB/s (10^9 bytes); `copy_both` is the sum when both ways run at once.
  double copy_in = 55.1, copy_out = 55.1, copy_both = 95;
  // Decisions are made with these, and serving in place takes what they say.
  Prices decisions;
  // By log2 - kMinChunkLog2.
  std::array<MapCosts, kChunkSizeCount> device{{{0.6, 19, 14, 15, 15},
                                                {0.6, 19, 13, 14, 18},
                                                {0.6, 19, 14, 14, 22},
                                                {0.6, 19, 14, 14, 30},
                                                {0.6, 25, 17, 14, 45},
                                                {0.6, 32, 21, 36, 53}}};
  std::array<MapCosts, kChunkSizeCount> host{{{1, 47, 28, 149},
                                              {2, 74, 33, 300},
                                              {2, 111, 44, 650},
                                              {3, 186, 70, 1470},
                                              {4, 320, 110, 3600},
                                              {6, 588, 165, 8790}}};
  // A call on a mapping takes so much longer, by its own time, beside kernels, again beside copies
  // in, and again beside copies out: the driver's updates wait for all of them
  // (docs/findings/0001-page-tables-beside-copies.md).
  double beside = 0.55;
  // And by this of all that, for each way that another program copies. Giving access took 327 us
  // instead of 153 where both programs copied both ways.
  double beside_others = (327.0 / 153 - 1) / 2;
  // Microseconds.
  double hold_call = 1.76;  // One entry of a held launch, for the launching thread.
  // What each launch takes of its thread while memory is short, beyond what it takes where all is
  // there and a recording is made (docs/findings/0021-what-holds-a-training-step-up.md).
  double short_call = 7.5;
  double hold_release = 8.1;  // From letting a launch go to its start.
  // What else a launch's stream takes for the operations around it, alone and beside copies in: for
  // an open wait before a held one, and for the word behind each that says it has ended.
  double pass = 2.3, pass_beside = 7.4;
  double mark = 2, mark_beside = 8;
  // What a kernel reads and writes where it lies takes so much longer than what it only reads: 1.11
  // to 1.27 were seen (docs/findings/0018-trials.md).
  double both_ways = 1.2;
  double copy_start = 2.5;  // Of each copy in.
  double piece_start = 10;  // Of each piece of a copy out: the next is started by a thread.
  // The mover's own time for a plan that has something moved, for beginning a fetch, and for ending
  // a move (docs/findings/0020-what-the-movers-thread-is-busy-with.md).
  double per_plan = 20, per_fetch = 15, per_move = 10;
  double begin = 160'000;  // Once, where memory is short: the mover's context (an H200's).
};

}  // namespace vramspan::replay

#endif  // VRAMSPAN_TOOLS_REPLAY_REPLAY_PRICES_H_
