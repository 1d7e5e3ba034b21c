// Random worlds, for VRAMSPAN_SIMULATION_SECONDS (16 by default).
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

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
class SchedulerSimulationFinds : public testing::TestWithParam<int> {
 protected:
  enum Verdict { kNoOccasion, kMissed, kFound, kFoundLate };

  static Verdict Run(const WorldOptions& options) {
    constexpr uint64_t kMostEvents = 200'000;
    World world(options);
    const bool ok = world.Run();
    if (world.lies() == 0) return kNoOccasion;
    if (ok) return kMissed;
    return world.events() < kMostEvents ? kFound : kFoundLate;
  }
#ifdef VRAMSPAN_DCHECK
  // What the code checks of itself may find it first, and ends the process.
  static Verdict Try(const WorldOptions& options) {
    const pid_t child = fork();
    if (child == 0) _exit(Run(options));
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT) return kFound;
    EXPECT_TRUE(WIFEXITED(status));
    return static_cast<Verdict>(WEXITSTATUS(status));
  }
#else
  static Verdict Try(const WorldOptions& options) { return Run(options); }
#endif
};

TEST_P(SchedulerSimulationFinds, EachLie) {
  const auto sabotage = static_cast<Sabotage>(GetParam());
  uint64_t found = 0, lied = 0;
  for (uint64_t seed = 1; seed <= 30 && found < 3; ++seed) {
    WorldOptions options = WorldOptions::Draw(seed);
    options.faults = {};
    options.shares_context = false;
    options.steps = {.copies = 200, .captured = 20, .frees = 20, .foreign = 5, .queries = 5};
    // All else that keeps memory mapped would hide it.
    if (sabotage == Sabotage::kTrustTooMuch) options.steps = {.mapped = 50};
    if (sabotage >= Sabotage::kGiveUpUnasked) options.steps.given_up = 100;
    options.events = 20'000;
    options.sabotage = sabotage;
    const Verdict verdict = Try(options);
    if (verdict == kNoOccasion) continue;
    ++lied;
    found += verdict == kFound || verdict == kFoundLate;
    EXPECT_NE(verdict, kFoundLate);
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
