// A recorded run's accesses through a plain cache: the works in their order, the chunks of each in
// their order, one access after another. No look-ahead, no time, no price of a move: what a policy
// alone is worth, and what miss-ratio curves show (curves.h).
//
// A chunk that is not there comes in; until it fits, what the policy offers leaves. One that is
// larger than the whole room is missed and changes nothing. What is freed leaves. Packed bytes and
// allocations take no room: memory comes in when it is first used, and that first touch is counted
// by itself, for there is nothing to be fetched.
//
// The policies are those of the runtime and are told what the runtime tells them: that a chunk came
// and then, as of every access, that it was used. libCacheSim's definitions (fifo, lru, clock,
// sieve, s3fifo, arc, lfu) are met but for this: clock sets the bit of what came in; s3fifo's small
// queue and arc's aim are as their headers say; lfu forgets (runtime/placement/policies). `min` is
// MIN with bypass (bound.h); libCacheSim's Belady lets everything in.
#ifndef VRAMSPAN_TOOLS_REPLAY_CACHE_MODEL_H_
#define VRAMSPAN_TOOLS_REPLAY_CACHE_MODEL_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "runtime/placement/policy.h"
#include "tools/replay/chunked_run.h"

namespace vramspan::replay {

struct CacheCounts {
  uint64_t accesses = 0;
  uint64_t first_touches = 0;
  uint64_t misses = 0;  // Of the others.
  Bytes missed;         // Those misses' chunks; 0 for `min`, which has no one schedule.

  uint64_t hits() const { return accesses - first_touches - misses; }
  double miss_ratio() const {
    return accesses == 0 ? 0 : static_cast<double>(misses) / static_cast<double>(accesses);
  }
};

// Runs a policy by name, those of MakePolicy and `min`; its error for others. For unequal chunks
// `min` is a lower bound (bound.h), and there is an end to its accesses: ResourceExhausted.
StatusOr<CacheCounts> RunCache(const ChunkedRun& run, std::string_view policy, Bytes room,
                               uint64_t seed = 1);
// The same with a policy that knows no chunk yet.
CacheCounts RunCache(const ChunkedRun& run, EvictionPolicy& policy, Bytes room);

// The names that RunCache takes.
std::vector<std::string_view> CachePolicyNames();

}  // namespace vramspan::replay

#endif  // VRAMSPAN_TOOLS_REPLAY_CACHE_MODEL_H_
