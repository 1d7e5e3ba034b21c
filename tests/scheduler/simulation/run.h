// World after world, seed by seed, and what they were.
#ifndef VRAMSPAN_TESTS_SCHEDULER_SIMULATION_RUN_H_
#define VRAMSPAN_TESTS_SCHEDULER_SIMULATION_RUN_H_

#include <cstdint>
#include <string>

namespace vramspan::simulation {

inline constexpr double kNoEnd = 1e9;  // Seconds.

struct RunOptions {
  uint64_t seed = 1;
  uint64_t worlds = UINT64_MAX;
  uint64_t events = UINT64_MAX;
  double seconds = 20;
  bool log = false;
  bool checks_due = false;  // See WorldOptions.
  const char* program = "scheduler_simulation";
};

struct RunResult {
  bool ok = true;
  std::string failure;
  uint64_t seed = 0;  // Of the world that failed.
  uint64_t worlds = 0, events = 0;
};

// Prints counts of worlds by size, events a second, and the first failure with how to repeat it.
RunResult RunWorlds(const RunOptions& options);

}  // namespace vramspan::simulation

#endif  // VRAMSPAN_TESTS_SCHEDULER_SIMULATION_RUN_H_
