// Recorded runs for tests: small ones written by hand, and random ones that are the same for the
// same seed.
#ifndef VRAMSPAN_TESTS_REPLAY_RANDOM_RUN_H_
#define VRAMSPAN_TESTS_REPLAY_RANDOM_RUN_H_

#include <cstdint>
#include <vector>

#include "tools/replay/recorded_run.h"

namespace vramspan::replay {

// Builds a run call by call. Work takes `microseconds` on the device, one piece after another.
class RunBuilder {
 public:
  uint32_t Allocate(Bytes size);
  void Free(uint32_t allocation);
  // Touches each of the allocations whole.
  void Work(const std::vector<uint32_t>& allocations, uint64_t microseconds = 100,
            uint32_t code = 0, uint32_t stream = 0);
  void Work(const std::vector<RecordedRange>& ranges, uint64_t microseconds, uint32_t code,
            uint32_t stream = 0);
  RecordedRun Take();

 private:
  RecordedRun run_;
  uint64_t now_ = 1000;
};

struct RandomRunOptions {
  uint32_t allocations = 12;
  uint32_t works = 400;
  Bytes size = MiB(2);  // Of every allocation; with `varied` up to 24 times as much.
  bool varied = false;
  uint32_t most_touched = 3;  // Allocations that one work touches.
  uint32_t streams = 1;
  bool frees = false;  // Now and then one goes and another comes.
};
RecordedRun RandomRun(uint64_t seed, const RandomRunOptions& options = {});
// `layers` allocations touched one after another, `passes` times over.
RecordedRun LoopRun(uint32_t layers, uint32_t passes, Bytes size = MiB(2),
                    uint64_t microseconds = 100);

}  // namespace vramspan::replay

#endif  // VRAMSPAN_TESTS_REPLAY_RANDOM_RUN_H_
