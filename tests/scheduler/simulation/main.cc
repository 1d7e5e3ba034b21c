// Long runs of the simulation: scheduler_simulation [--seconds S | --events N] [--seed N]
// [--worlds N] [--log] [--due]. Worlds of one seed after the other, for 20 s or as long as is said,
// or until so many events have happened; or the one of a seed, with --worlds 1. A failure prints
// how to repeat it.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "tests/scheduler/simulation/run.h"

int main(int argc, char** argv) {
  vramspan::simulation::RunOptions options;
  for (int i = 1; i < argc; ++i) {
    const std::string_view name = argv[i];
    if (name == "--log") {
      options.log = true;
      continue;
    }
    if (name == "--due") {
      options.checks_due = true;
      continue;
    }
    if (i + 1 == argc) {
      std::fprintf(stderr, "usage: %s [--seconds S | --events N] [--seed N] [--worlds N] [--log]\n",
                   argv[0]);
      return 2;
    }
    const uint64_t value = std::strtoull(argv[++i], nullptr, 10);
    if (name == "--seconds") options.seconds = static_cast<double>(value);
    if (name == "--events") options.events = value;
    if (name == "--seed") options.seed = value;
    if (name == "--worlds") options.worlds = value;
    // Whoever says how much means all of it.
    if (name == "--events" || name == "--worlds") options.seconds = vramspan::simulation::kNoEnd;
  }
  options.program = argv[0];
  return vramspan::simulation::RunWorlds(options).ok ? 0 : 1;
}
