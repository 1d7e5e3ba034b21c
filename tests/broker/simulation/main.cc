// Long runs of the simulation: broker_simulation [--events N] [--seed N] [--worlds N] [--log].
// Worlds of one seed after the other until so many events have happened, ten million by default; or
// the one of a seed, with --worlds 1. A failure prints how to repeat it.
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "tests/broker/simulation/world.h"

int main(int argc, char** argv) {
  using vramspan::broker::simulation::World;
  uint64_t events = 10'000'000, seed = 1, worlds = UINT64_MAX;
  vramspan::broker::simulation::WorldOptions options;
  for (int i = 1; i < argc; ++i) {
    const std::string_view name = argv[i];
    if (name == "--log") {
      options.log = true;
      continue;
    }
    if (i + 1 == argc) {
      std::fprintf(stderr, "usage: %s [--events N] [--seed N] [--worlds N] [--log]\n", argv[0]);
      return 2;
    }
    const uint64_t value = std::strtoull(argv[++i], nullptr, 10);
    if (name == "--events") events = value;
    if (name == "--seed") seed = value;
    if (name == "--worlds") worlds = value;
  }
  std::printf("worlds from seed %llu on\n", static_cast<unsigned long long>(seed));
  uint64_t all = 0, converged = 0, quiet = 0, steady = 0, turns = 0;
  for (uint64_t i = 0; i < worlds && all < events; ++i) {
    options.seed = seed + i;
    World world(options);
    if (!world.Run()) {
      std::printf("%s\nrepeat it: %s --seed %llu --worlds 1 --log\n", world.failure().c_str(),
                  argv[0], static_cast<unsigned long long>(options.seed));
      return 1;
    }
    all += world.seen().events;
    converged += world.seen().converged;
    steady += world.seen().steady;
    quiet += world.seen().quiet;
    turns += world.seen().turns;
  }
  std::printf(
      "%llu events, %llu quiet times: in %llu all came to have what was due, in %llu it stayed "
      "so; %llu times work was to be held or let go\n",
      static_cast<unsigned long long>(all), static_cast<unsigned long long>(quiet),
      static_cast<unsigned long long>(converged), static_cast<unsigned long long>(steady),
      static_cast<unsigned long long>(turns));
  return 0;
}
