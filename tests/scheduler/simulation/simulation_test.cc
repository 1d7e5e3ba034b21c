// Random worlds, for VRAMSPAN_SIMULATION_SECONDS (16 by default).
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/scheduler/simulation/run.h"
#include "tests/scheduler/simulation/world.h"

namespace vramspan::simulation {
namespace {

constexpr double kSeconds = 16;
// By default the same everywhere: what a faster machine would find more is a nightly's.
constexpr uint64_t kWorlds = 1200;

TEST(SchedulerSimulation, AllInvariantsHold) {
  const char* const seconds = std::getenv("VRAMSPAN_SIMULATION_SECONDS");
  const char* const seed = std::getenv("VRAMSPAN_SIMULATION_SEED");
  RunOptions options;
  options.seconds = seconds != nullptr ? std::atof(seconds) : kSeconds;
  if (seconds == nullptr) options.worlds = kWorlds;
  if (seed != nullptr) options.seed = std::strtoull(seed, nullptr, 10);
  const RunResult result = RunWorlds(options);
  EXPECT_TRUE(result.ok) << "seed " << result.seed << ": " << result.failure;
  EXPECT_GT(result.events, 10'000u);
}

TEST(SchedulerSimulation, TheSameSeedDoesTheSame) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    WorldOptions options = WorldOptions::Draw(seed);
    options.events = 3000;
    World a(options), b(options);
    EXPECT_TRUE(a.Run()) << a.failure();
    EXPECT_TRUE(b.Run());
    EXPECT_EQ(a.log(), b.log()) << seed;
    EXPECT_EQ(a.events(), b.events()) << seed;
  }
}

// An invariant that nothing can break says nothing: each lie is found, and soon.
class SchedulerSimulationFinds : public testing::TestWithParam<int> {};

TEST_P(SchedulerSimulationFinds, EachLie) {
  constexpr uint64_t kMostEvents = 200'000;
  const auto sabotage = static_cast<Sabotage>(GetParam());
  uint64_t found = 0, lied = 0;
  for (uint64_t seed = 1; seed <= 30 && found < 3; ++seed) {
    WorldOptions options = WorldOptions::Draw(seed);
    options.faults = {};
    options.shares_context = false;
    options.steps = {.copies = 200, .captured = 20, .frees = 20, .foreign = 5, .queries = 5};
    // All else that keeps memory mapped would hide it.
    if (sabotage == Sabotage::kTrustTooMuch) options.steps = {.mapped = 50};
    options.events = 20'000;
    options.sabotage = sabotage;
    World world(options);
    const bool ok = world.Run();
    if (world.lies() == 0) continue;
    ++lied;
    if (ok) continue;
    ++found;
    EXPECT_LT(world.events(), kMostEvents);
  }
  EXPECT_NE(lied, 0u) << "there was no occasion";
  EXPECT_EQ(found, std::min<uint64_t>(lied, 3));
}

INSTANTIATE_TEST_SUITE_P(Lies, SchedulerSimulationFinds,
                         testing::Range(1, static_cast<int>(Sabotage::kCount)),
                         [](const testing::TestParamInfo<int>& lie) {
                           return SabotageName(static_cast<Sabotage>(lie.param));
                         });

}  // namespace
}  // namespace vramspan::simulation
