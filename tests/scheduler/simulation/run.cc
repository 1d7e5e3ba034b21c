#include "tests/scheduler/simulation/run.h"

#include <algorithm>
#include <chrono>
#include <cinttypes>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <map>
#include <vector>

#include "tests/scheduler/simulation/world.h"

namespace vramspan::simulation {
namespace {

// For who repeats a run that a check ended.
char repeat[256];

void OnAbort(int signal) {
  std::fputs(repeat, stderr);
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

struct Sizes {
  uint64_t worlds = 0, events = 0;
  std::vector<size_t> held;
};

}  // namespace

RunResult RunWorlds(const RunOptions& options) {
  // Speed is of the processor, which others may use as well; the time that it may take is not.
  using Clock = std::chrono::steady_clock;
  const auto until = Clock::now() + std::chrono::duration<double>(options.seconds);
  const std::clock_t begin = std::clock();
  const auto seconds = [begin] {
    return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  };
  std::signal(SIGABRT, OnAbort);
  std::signal(SIGSEGV, OnAbort);
  RunResult result;
  std::map<std::string, Sizes> sizes;
  std::map<int, uint64_t> actions;
  uint64_t deadlines = 0;
  for (result.seed = options.seed;
       result.worlds < options.worlds && result.events < options.events && Clock::now() < until;
       ++result.seed) {
    WorldOptions world_options = WorldOptions::Draw(result.seed);
    world_options.log = options.log;
    world_options.checks_due = options.checks_due;
    std::snprintf(repeat, sizeof(repeat), "repeat: %s --worlds 1 --seed %" PRIu64 " --log\n",
                  options.program, result.seed);
    World world(world_options);
    result.ok = world.Run();
    ++result.worlds;
    result.events += world.events();
    Sizes& size = sizes[world_options.size_class()];
    ++size.worlds;
    size.events += world.events();
    size.held.push_back(world.most_held());
    for (int i = 0; i < 10; ++i) actions[i] += world.mover().acted()[i];
    deadlines += world.scheduler().work().statistics().deadlines;
    if (result.ok) continue;
    result.failure = world.failure();
    std::fprintf(stderr, "seed %" PRIu64 ": %s\n%s", result.seed, result.failure.c_str(), repeat);
    break;
  }
  for (auto& [name, size] : sizes) {
    std::nth_element(size.held.begin(), size.held.begin() + size.held.size() / 2, size.held.end());
    std::printf("%s: %" PRIu64 " worlds, %" PRIu64 " events, median of most held %zu\n",
                name.c_str(), size.worlds, size.events, size.held[size.held.size() / 2]);
  }
  std::printf("actions:");
  for (const auto& [kind, count] : actions) std::printf(" %" PRIu64, count);
  std::printf("; let go in place at a deadline: %" PRIu64 "\n", deadlines);
  std::printf("%" PRIu64 " worlds, %" PRIu64 " events, %.2f s of a core, %.0f events/s\n",
              result.worlds, result.events, seconds(),
              static_cast<double>(result.events) / seconds());
  return result;
}

}  // namespace vramspan::simulation
