// Plans carried out one after another, against bounds that are known.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "tests/placement/simulated_run.h"

namespace vramspan {
namespace {

constexpr Bytes kRunChunk = MiB(2);

// Fetches that eviction by `lru` or by Belady's rule needs, where a work's chunks and those of the
// work before it, which still runs, stay. REQUIRES: room for two works.
uint64_t FetchesNeeded(const std::vector<Chunks>& works, size_t room, bool lru) {
  std::vector<uint32_t> recent;  // What is on the device, least recently used first.
  uint64_t fetches = 0;
  for (size_t i = 0; i < works.size(); ++i) {
    const auto next_use = [&](uint32_t id) {
      for (size_t k = i + 1; k < works.size(); ++k) {
        if (std::count(works[k].begin(), works[k].end(), ChunkIndex(id))) return k;
      }
      return works.size();
    };
    const auto stays = [&](uint32_t id) {
      for (size_t k = i == 0 ? 0 : i - 1; k <= i; ++k) {
        if (std::count(works[k].begin(), works[k].end(), ChunkIndex(id))) return true;
      }
      return false;
    };
    for (const ChunkIndex c : works[i]) {
      if (std::count(recent.begin(), recent.end(), c.value)) continue;
      ++fetches;
      if (recent.size() == room) {
        auto victim = recent.end();
        for (auto at = recent.begin(); at != recent.end(); ++at) {
          if (stays(*at)) continue;
          if (victim == recent.end() || (!lru && next_use(*at) > next_use(*victim))) victim = at;
        }
        EXPECT_TRUE(victim != recent.end());
        recent.erase(victim);
      }
      recent.push_back(c.value);
    }
    for (const ChunkIndex c : works[i]) {
      recent.erase(std::find(recent.begin(), recent.end(), c.value));
      recent.push_back(c.value);
    }
  }
  return fetches;
}

SimulatedSetup RandomSequence(uint32_t seed) {
  std::mt19937 rng(seed);
  SimulatedSetup setup;
  const uint32_t chunks = 6 + rng() % 30;
  const uint32_t most = 1 + rng() % 3;
  setup.sizes.assign(chunks + 1, kRunChunk);
  setup.capacity = kRunChunk * (2 * most + rng() % (chunks - 2 * std::min(most, chunks / 3)));
  const bool skewed = rng() % 2;
  for (uint32_t i = 0; i < 150; ++i) {
    std::set<uint32_t> ids;
    while (ids.size() < 1 + i % most) {
      ids.insert(1 + (skewed ? std::min(rng() % chunks, rng() % chunks) : rng() % chunks));
    }
    Chunks work;
    for (const uint32_t id : ids) work.push_back(ChunkIndex(id));
    setup.works.push_back(std::move(work));
  }
  setup.release_ahead = 1;
  return setup;
}

TEST(PlannerRun, OnDemandItFetchesAsOftenAsBeladysMin) {
  for (uint32_t seed = 1; seed <= 100; ++seed) {
    SimulatedSetup setup = RandomSequence(seed);
    setup.prefetch = false;
    const SimulatedResult result = Simulate(setup);
    ASSERT_TRUE(result.finished) << "seed " << seed;
    const size_t room = setup.capacity / kRunChunk;
    const uint64_t min = FetchesNeeded(setup.works, room, false);
    EXPECT_EQ(result.fetches, min) << "seed " << seed;
    EXPECT_LE(min, FetchesNeeded(setup.works, room, true));
    EXPECT_EQ(result.in_place, 0u);
  }
}

TEST(PlannerRun, FetchingAheadCostsLittleMoreThanMinAndNoMoreThanLru) {
  uint64_t fetches = 0, min = 0;
  for (uint32_t seed = 1; seed <= 100; ++seed) {
    SimulatedSetup setup = RandomSequence(seed);
    setup.release_ahead = 1 + seed % 3;
    const SimulatedResult result = Simulate(setup);
    ASSERT_TRUE(result.finished) << "seed " << seed;
    const size_t room = setup.capacity / kRunChunk;
    EXPECT_LE(result.fetches, FetchesNeeded(setup.works, room, true)) << "seed " << seed;
    fetches += result.fetches;
    min += FetchesNeeded(setup.works, room, false);
  }
  RecordProperty("fetches_over_min", std::to_string(double(fetches) / min));
  EXPECT_LE(fetches, min * 1.15);
}

// Layers of equal size, run round and round.
struct Cycle {
  uint32_t layers = 16;
  uint32_t room = 12;
  uint32_t chunks = 16;      // Of a layer.
  double layer_fetch = 0.5;  // Over the time a layer runs.
  uint32_t passes = 20;
};

SimulatedSetup MakeCycle(const Cycle& cycle) {
  SimulatedSetup setup;
  setup.sizes.assign(cycle.layers * cycle.chunks + 1, MiB(16));
  for (uint32_t pass = 0; pass < cycle.passes; ++pass) {
    for (uint32_t layer = 0; layer < cycle.layers; ++layer) {
      Chunks work;
      for (uint32_t i = 1; i <= cycle.chunks; ++i) {
        work.push_back(ChunkIndex(layer * cycle.chunks + i));
      }
      setup.works.push_back(std::move(work));
    }
  }
  setup.capacity = MiB(16) * (cycle.room * cycle.chunks);
  for (uint32_t i = 1; i <= cycle.room * cycle.chunks; ++i) {
    setup.resident.push_back(ChunkIndex(i));
  }
  setup.fetch_time = setup.evict_time = cycle.layer_fetch / cycle.chunks;
  setup.look_ahead = 3 * cycle.layers;
  return setup;
}

// Layers fetched in a pass, once it has settled. The end, where fewer and fewer works are queued,
// does not count.
double LayersAPass(const Cycle& cycle, const SimulatedResult& result) {
  const uint32_t from = cycle.passes / 2, to = cycle.passes - 4;
  const uint64_t fetches =
      result.fetches_after[to * cycle.layers - 1] - result.fetches_after[from * cycle.layers - 1];
  return double(fetches) / cycle.chunks / (to - from);
}

TEST(PlannerRun, ACycleKeepsAPartOfItselfOnTheDevice) {
  for (const uint32_t chunks : {1, 4, 16}) {
    for (const uint32_t room : {4, 8, 12, 14}) {
      for (const double layer_fetch : {0.05, 0.5, 1.0, 1.7, 7.0}) {
        const Cycle cycle = {.room = room, .chunks = chunks, .layer_fetch = layer_fetch};
        const SimulatedResult result = Simulate(MakeCycle(cycle));
        ASSERT_TRUE(result.finished);
        const double n = cycle.layers, c = cycle.room;
        const double layers = LayersAPass(cycle, result);
        // Half a layer: where a chunk is a layer, a pass fetches a whole number of them.
        EXPECT_GE(layers, n * (n - c) / (n - 1) - 0.5);
        EXPECT_LE(layers, n * (n - c + 1) / (n - 1) + 1)
            << chunks << " chunks a layer, room for " << room << ", fetch " << layer_fetch;
        EXPECT_EQ(result.in_place, 0u);
      }
    }
  }
}

TEST(PlannerRun, OnACycleFetchesHideUnderWork) {
  for (const uint32_t room : {8, 12}) {
    for (const double layer_fetch : {0.05, 0.5, 0.9, 1.4}) {
      const Cycle cycle = {.room = room, .layer_fetch = layer_fetch};
      const SimulatedResult result = Simulate(MakeCycle(cycle));
      ASSERT_TRUE(result.finished);
      EXPECT_LE(result.elapsed, 1.01 * cycle.layers * cycle.passes)
          << "room for " << room << ", fetch " << layer_fetch;
    }
  }
}

TEST(PlannerRun, OnACycleBoundByTheLinkTheLinkIsBusy) {
  for (const uint32_t room : {8, 12}) {
    for (const double layer_fetch : {3.0, 7.4}) {
      const Cycle cycle = {.room = room, .layer_fetch = layer_fetch};
      const SimulatedResult result = Simulate(MakeCycle(cycle));
      ASSERT_TRUE(result.finished);
      const double n = cycle.layers;
      const double least = std::max(n, n * (n - room) / (n - 1) * layer_fetch) * cycle.passes;
      EXPECT_LE(result.elapsed, 1.2 * least) << "room for " << room << ", fetch " << layer_fetch;
    }
  }
}

TEST(PlannerRun, ReleasingFarAheadDoesNotEmptyTheDevice) {
  const Cycle cycle;
  SimulatedSetup setup = MakeCycle(cycle);
  setup.release_ahead = 1000;
  const SimulatedResult result = Simulate(setup);
  ASSERT_TRUE(result.finished);
  EXPECT_LE(LayersAPass(cycle, result), 5.4);
  EXPECT_LE(result.elapsed, 1.01 * cycle.layers * cycle.passes);
  setup.show_released = false;
  EXPECT_GT(LayersAPass(cycle, Simulate(setup)), 10) << "then the cure is not needed";
}

TEST(PlannerRun, ASetLargerThanTheDeviceIsNotChurned) {
  SimulatedSetup setup;
  setup.sizes.assign(15, kRunChunk);
  setup.capacity = kRunChunk * 10;
  Chunks work;
  for (uint32_t id = 1; id <= 14; ++id) work.push_back(ChunkIndex(id));
  setup.works.assign(50, work);
  const SimulatedResult result = Simulate(setup);
  ASSERT_TRUE(result.finished);
  EXPECT_EQ(result.fetches, 10u);
  EXPECT_EQ(result.evictions, 0u);
  EXPECT_EQ(result.in_place, 50u);
}

TEST(PlannerRun, AnySequenceComesToItsEnd) {
  for (uint32_t seed = 1; seed <= 100; ++seed) {
    std::mt19937 rng(seed);
    SimulatedSetup setup;
    const uint32_t chunks = 2 + rng() % 40;
    setup.sizes.resize(chunks + 1);
    uint64_t total = 0;
    for (uint32_t id = 1; id <= chunks; ++id) {
      setup.sizes[id] = ChunkBytes(kMinChunkLog2 + rng() % 6);
      total += setup.sizes[id].value;
    }
    setup.capacity = RoundUp(Bytes(1 + rng() % total), kGranularity);
    for (int i = 0; i < 100; ++i) {
      std::set<uint32_t> ids;
      for (uint32_t k = rng() % 8; k > 0; --k) ids.insert(1 + rng() % chunks);
      Chunks work;
      for (const uint32_t id : ids) work.push_back(ChunkIndex(id));
      setup.works.push_back(std::move(work));
    }
    setup.policy = PolicyNames()[rng() % PolicyNames().size()];
    setup.look_ahead = 1 + rng() % 30;
    setup.release_ahead = 1 + rng() % 5;
    setup.look_ahead += setup.release_ahead;
    setup.show_released = rng() % 2;
    setup.moves_at_once = 1 + rng() % 8;
    setup.ahead = MiB(2 * (rng() % 64));
    setup.fetch_time = (1 + rng() % 40) / 20.0;
    setup.evict_time = (1 + rng() % 40) / 20.0;
    EXPECT_TRUE(Simulate(setup).finished) << "seed " << seed << " is stuck";
  }
}

}  // namespace
}  // namespace vramspan
