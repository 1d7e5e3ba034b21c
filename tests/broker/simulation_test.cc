// Random worlds: so many events, of seeds that are printed (VRAMSPAN_BROKER_EVENTS,
// VRAMSPAN_BROKER_SEED).
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

#include "tests/broker/simulation/world.h"

namespace vramspan::broker::simulation {
namespace {

// Some 20 s of a core. What more finds is a nightly's (broker_simulation).
constexpr uint64_t kEvents = 4'000'000;

uint64_t Number(const char* name, uint64_t otherwise) {
  const char* const text = std::getenv(name);
  return text != nullptr ? std::strtoull(text, nullptr, 10) : otherwise;
}

TEST(BrokerSimulation, AllInvariantsHold) {
  const uint64_t events = Number("VRAMSPAN_BROKER_EVENTS", kEvents);
  const uint64_t first = Number("VRAMSPAN_BROKER_SEED", 1);
  Seen all;
  uint64_t seed = first;
  for (; all.events < events; ++seed) {
    World world({.seed = seed});
    ASSERT_TRUE(world.Run()) << world.failure();
    const Seen& seen = world.seen();
    all.events += seen.events;
    all.recalls += seen.recalls;
    all.fences += seen.fences;
    all.unfences += seen.unfences;
    all.refusals += seen.refusals;
    all.rooms += seen.rooms;
    all.overruns += seen.overruns;
    all.forgotten += seen.forgotten;
    all.restarts += seen.restarts;
    all.converged += seen.converged;
    all.steady += seen.steady;
    all.drained += seen.drained;
  }
  std::printf("seeds %llu to %llu, %llu events\n", static_cast<unsigned long long>(first),
              static_cast<unsigned long long>(seed - 1),
              static_cast<unsigned long long>(all.events));
  // There was something to see.
  const uint64_t some = all.events / 100'000;
  EXPECT_GT(all.recalls, 1'000 * some);
  for (const uint64_t count :
       {all.fences, all.unfences, all.refusals, all.rooms, all.overruns, all.forgotten,
        all.restarts, all.converged, all.steady, all.drained}) {
    EXPECT_GT(count, some);
  }
}

TEST(BrokerSimulation, TheSameSeedDoesTheSame) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    World a({.seed = seed}), b({.seed = seed});
    EXPECT_TRUE(a.Run()) << a.failure();
    EXPECT_TRUE(b.Run());
    EXPECT_EQ(a.hash(), b.hash()) << seed;
    EXPECT_EQ(a.seen().events, b.seen().events);
  }
}

}  // namespace
}  // namespace vramspan::broker::simulation
