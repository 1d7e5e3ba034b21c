// The simulated mover by itself: what must hold of any run, and what small runs must come to.
#include "tools/replay/simulated_mover.h"

#include <gmock/gmock.h>

#include <memory>
#include <string>

#include "tests/replay/random_run.h"
#include "tools/replay/bound.h"

namespace vramspan::replay {
namespace {

ReplayResult Replay(const RecordedRun& run, const ReplaySetting& setting,
                    const ReplayPrices& prices = {}) {
  const ChunkedRun chunks(&run, setting.chunk_log2, setting.device_memory);
  const Timing timing(&run, prices);
  std::unique_ptr<MinSchedule> min;
  if (setting.policy == kMinPolicy) {
    min = std::make_unique<MinSchedule>(chunks, SimulatedMover::KeptOf(setting.device_memory));
  }
  return SimulatedMover(chunks, timing, prices, setting, min.get()).Run();
}

TEST(SimulatedMover, WhatFitsTakesAsLongAsItDid) {
  for (uint64_t seed = 1; seed < 6; ++seed) {
    const RecordedRun run = RandomRun(seed, {.varied = true, .streams = 3, .frees = true});
    for (const char* policy : {"lru", "cost", "min"}) {
      const ReplayResult result = Replay(run, {.policy = policy, .device_memory = run.PeakBytes()});
      EXPECT_EQ(result.predicted, run.Duration()) << policy;
      EXPECT_EQ(result.fetches, 0u);
      EXPECT_EQ(result.stall.total(), 0u);
    }
  }
}

TEST(SimulatedMover, NobodyFetchesLessThanTheBound) {
  for (uint64_t seed = 1; seed < 30; ++seed) {
    const RecordedRun run = RandomRun(seed, {.works = 200,
                                             .varied = seed % 2 == 0,
                                             .streams = static_cast<uint32_t>(1 + seed % 3),
                                             .frees = seed % 4 == 0});
    for (const uint64_t part : {1, 3, 6, 9}) {
      for (const std::string_view policy : PolicyNames()) {
        const ReplayOverlap overlap = static_cast<ReplayOverlap>(seed % 4);
        const ReplaySetting setting{.policy = std::string(policy),
                                    .device_memory = Bytes(run.PeakBytes().value / 10 * part),
                                    .chunk_log2 = seed % 5 == 0 ? 0 : 21,
                                    .overlap = overlap};
        const ReplayResult result = Replay(run, setting);
        const ChunkedRun chunks(&run, setting.chunk_log2, setting.device_memory);
        EXPECT_LE(MinFetches(chunks, setting.device_memory), result.fetches)
            << policy << " seed " << seed << " part " << part;
        EXPECT_GE(result.predicted, 0u);
      }
    }
  }
}

}  // namespace
}  // namespace vramspan::replay
