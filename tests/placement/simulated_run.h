// A device in virtual time that does what plans say: one copy engine each way, works that run one
// after another, chunks that are busy from a work's release to its end. Checks on the way that a
// plan breaks no rule it could break.
#ifndef VRAMSPAN_TESTS_PLACEMENT_SIMULATED_RUN_H_
#define VRAMSPAN_TESTS_PLACEMENT_SIMULATED_RUN_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "runtime/placement/planner.h"

namespace vramspan {

using Chunks = std::vector<ChunkIndex>;

struct SimulatedSetup {
  std::vector<Chunks> works;  // All are queued from the start.
  std::vector<Bytes> sizes;   // By chunk.
  Bytes capacity;
  std::string_view policy = "lru";
  Chunks resident;             // At the start, oldest first.
  uint32_t look_ahead = 1000;  // Works of the queue that the planner is shown.
  uint32_t release_ahead = 2;  // Works released and unfinished, at most.
  bool show_released = true;   // In the planner's queue.
  bool prefetch = true;        // False: a plan is made only when the head lacks something.
  uint32_t moves_at_once = 8;  // Each way.
  Bytes ahead;
  // In the same unit of time.
  double work_time = 1;
  double fetch_time = 0.1;  // For the smallest chunk; longer in proportion.
  double evict_time = 0.1;
};

struct SimulatedResult {
  bool finished = false;  // False: nothing moved any more before all work was done.
  double elapsed = 0;
  uint64_t fetches = 0;
  uint64_t evictions = 0;
  uint64_t in_place = 0;  // Works released without all of their chunks.
  // Fetches up to the end of each work.
  std::vector<uint64_t> fetches_after;
};

SimulatedResult Simulate(const SimulatedSetup& setup);

}  // namespace vramspan

#endif  // VRAMSPAN_TESTS_PLACEMENT_SIMULATED_RUN_H_
