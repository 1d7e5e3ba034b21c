// How much is moved, held, looked at and expected at once: the figures behind the mover's decisions
// that are no device's. The runtime's mover and the replay tool's take them from here.
#ifndef VRAMSPAN_RUNTIME_PLACEMENT_MOVE_LIMITS_H_
#define VRAMSPAN_RUNTIME_PLACEMENT_MOVE_LIMITS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "runtime/base/units.h"

namespace vramspan {

// Copies under way and waiting, each way: enough that the link never waits for the thread, little
// enough that a plan does not go stale. At most an eighth of the budget, at least two chunks.
inline constexpr Bytes kPipeline = MiB(256);
inline constexpr uint64_t kPipelineShare = 8;
constexpr Bytes PipelineBytes(Bytes budget) {
  return std::min(kPipeline,
                  std::max(Bytes(budget.value / kPipelineShare), ChunkBytes(kMinChunkLog2) * 2));
}
// Fetched ahead at the cost of what the queue needs later: two large chunks, eight middling ones.
inline constexpr Bytes kFetchedAhead = MiB(128);
inline constexpr uint32_t kMovesAtOnce = 32;
// What nobody in sight needs leaves for what does so early: times what the way in takes beside one
// out. Some of it is the way out, which comes first, and remaps.
inline constexpr double kEarly = 2;
// Of the released work, the planner sees the latest this many.
inline constexpr size_t kReleasedSeen = 256;

// So much work is held at most. Beyond about a thousand launches behind a closed wait the driver
// blocks the thread, inside its scope, and nothing that the scope names can be remapped before it
// comes back; so it waits here instead. Work of kernels only has no such trouble, but a thread that
// waits inside the driver makes the remaps of the mover take more than twice their time (measured),
// so it does not get there either: a held launch is so many entries, and one more for every launch
// of fingerprints behind it.
inline constexpr size_t kEntriesHeld = 3;
inline constexpr size_t kMostHeld = 128;
inline constexpr size_t kMostHeldKernels = 160;

// Remaps in one round of the mover, so that work that ends is seen soon; and fetches, of which some
// take one.
inline constexpr uint64_t kRemapTimeNs = 500'000;

// What a chunk that holds nothing costs in calls to leave and to come back: some 0.7 ms on an H200
// (docs/findings/0052-plans-ahead-on-a-gpu.md). It leaves for no shorter time.
inline constexpr double kOutAndBackNs = 1e6;

// Expected work that a plan looks at, where the program has not queued as much itself: few or many
// (Sequence::sight). And what is remembered for it.
inline constexpr size_t kExpectedWorks = 1024, kLeastExpected = 256;
inline constexpr size_t kMostSets = 1 << 14;
inline constexpr size_t kMostSetChunks = 1 << 20;

// While a trial runs (kernel_history.h) nothing is remapped, so that its end is seen when it comes,
// for this long at most from its release. One chunk over the bus takes 1.3 ms and less; what is
// served untried may be several. Nor is it while the first launches run that have all their memory
// on the device: what takes longer than this is told well enough beside remaps.
inline constexpr uint64_t kTrialPatienceNs = 4'000'000;
inline constexpr uint64_t kResidentPatienceNs = 1'000'000;

// Between two searches for chunks that might come back, the heat they must have, and how many do.
inline constexpr uint64_t kIdleFetchPeriodNs = 5'000'000;
inline constexpr double kWarm = 0.125;
inline constexpr size_t kReturnedAtOnce = 32;

// A fingerprint saves the copy of a chunk that was not written, and costs a launch on either way.
// Two MiB are copied in 40 microseconds, and a runtime of such chunks was three times as fast
// without.
inline constexpr Bytes kWorthAFingerprint = MiB(8);
// A copy to the host goes in pieces: large enough to run at link speed, small enough that a page
// table update beside it waits a third of a millisecond at most; beside copies in, which wait for
// such updates themselves, a fourth of that.
inline constexpr Bytes kOutPiece = MiB(16);
inline constexpr Bytes kOutPieceBesideIn = MiB(4);
// Host chunks without a mapping: work which may touch anything waits until all of them have one
// (some 9 us for each MiB, 50 for each chunk). Beyond that a move costs three to ten times the page
// table updates: at 512 a model of 60 GB at 40 GiB spent a third of its time in them.
inline constexpr uint32_t kMostUnmapped = 4096;
// What one of so many next works is to have on the device is fetched, and not mapped first for work
// that may touch it (runtime/scheduler/awaited_fetches.h says how long that waits).
inline constexpr size_t kFetchedNotMapped = 4;
// Recording of declared work begins when four fifths of the device's budget are used.
constexpr bool IsFilling(Bytes used, Bytes budget) {
  return used.value >= budget.value - budget.value / 100 * 20;
}

// The largest chunk that leaves a budget enough of them to choose among, as a log2. The place of a
// large one stands empty for the millisecond that it takes to leave and the next to come: there
// must be many beside it. Below that size a chunk costs as much in calls as in copies. Choices,
// tried on the six traces of examples/traces; no budget there is larger than 13 GiB.
inline constexpr uint64_t kLeastChunksOfBudget = 32;
inline constexpr uint64_t kLeastLargeOfBudget = 128;
inline constexpr int kLargeLog2 = 25;
constexpr int LargestChunk(Bytes budget) {
  const auto least = [](int log2) {
    return log2 < kLargeLog2 ? kLeastChunksOfBudget : kLeastLargeOfBudget;
  };
  int log2 = kMaxChunkLog2;
  while (log2 > kMinChunkLog2 && ChunkBytes(log2) * least(log2) > budget) --log2;
  return log2;
}

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_PLACEMENT_MOVE_LIMITS_H_
