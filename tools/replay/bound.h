// The least number of fetches with which anybody could have run a recorded run in a device memory:
// the floor under every policy, the future known.
//
// What is counted, and over what it is least: works run in the order of the run's steps. A work
// that names a chunk fetches it unless the chunk has kept its place on the device since the work
// before that named it, or since it was allocated. What has a place between two steps (and so
// between two works) fits into `device_memory` less the packed bytes that are live then; nothing is
// asked of what a work has while it runs, so a set larger than the device only costs fetches.
// Moving a chunk in early counts as the fetch that it saves, host memory has no end, and freed
// chunks hold no place.
//
// Chunks all of one size: exact. That is L. A. Belady's MIN (IBM Systems Journal 5(2), 1966) with
// bypass: where too much would keep its place, what is needed last does not, be it the chunk just
// used. It stays least when the room changes on the way (M. C. Carlisle, E. L. Lloyd, "On the
// k-coloring of intervals", Discrete Applied Mathematics 59, 1995, for a room that does not).
//
// Chunks of several sizes: a lower bound, for the least itself is NP-hard to find (M. Chrobak,
// G. J. Woeginger, K. Makino, H. Xu, "Caching is hard - even in the fault model", Algorithmica 63,
// 2012). Sizes s1 < s2 < ... < sn. A fetch of a chunk of size s costs 1/s a byte, which is the sum,
// over the sizes si from s on, of the steps ci = 1/si - 1/s(i+1), with cn = 1/sn. So a schedule's
// fetches are the sum over i of ci times the bytes it fetches in chunks no larger than si, and that
// is no less than ci times the fewest such bytes that any schedule fetches: MIN again, a byte at a
// time, with the larger chunks left out and the room rounded down to whole s1. The sum of these
// minima, rounded up, is the bound. It is below the least where different sizes would have to give
// way to each other in turn, or where a chunk would have to leave whole.
#ifndef VRAMSPAN_TOOLS_REPLAY_BOUND_H_
#define VRAMSPAN_TOOLS_REPLAY_BOUND_H_

#include <cstdint>

#include "tools/replay/chunked_run.h"

namespace vramspan::replay {

// Accesses (one chunk that one work names) are fewer than this.
inline constexpr uint64_t kMostMinAccesses = UINT32_MAX;

// REQUIRES: run.run().Check() is OK, and fewer than kMostMinAccesses accesses. Takes 8 bytes an
// access, and a pass over them for each size that occurs.
uint64_t MinFetches(const ChunkedRun& run, Bytes device_memory);

// The least misses, first touches aside, of a plain cache of `room` bytes (cache_model.h), where
// every access is by itself: what has a place fits after each access, not only after each work,
// packed bytes take none and what was allocated has none before its first use. With `bypass` as
// above; without it whatever is accessed comes in, which is MIN as it was published and as
// libCacheSim's Belady counts it. Exact, or a lower bound, as MinFetches is.
uint64_t MinMisses(const ChunkedRun& run, Bytes room, bool bypass);

// Whether these are the least numbers themselves, not bounds on them.
bool MinIsExact(const ChunkedRun& run);

}  // namespace vramspan::replay

#endif  // VRAMSPAN_TOOLS_REPLAY_BOUND_H_
