#include "tools/replay/bound.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <map>
#include <random>
#include <set>

#include "tests/replay/random_run.h"
#include "tools/replay/position_set.h"

namespace vramspan::replay {
namespace {

// Tries every schedule: after each step, every set of live chunks that fits may be what is on the
// device. Chunks are bits.
uint64_t LeastOfAll(const ChunkedRun& run, Bytes device_memory) {
  std::map<uint32_t, uint64_t> costs = {{0, 0}};  // By what is on the device.
  uint32_t live = 0;
  Bytes packed;
  const auto of_allocation = [&](uint32_t a) {
    uint32_t chunks = 0;
    for (uint32_t i = 0; i < run.count(a); ++i) chunks |= 1u << (run.first(a).value + i);
    return chunks;
  };
  const auto fits = [&](uint32_t chunks) {
    Bytes sum = packed;
    for (uint32_t c = 1; c < run.end(); ++c) {
      if (chunks >> c & 1) sum += run.size(ChunkIndex(c));
    }
    return sum <= device_memory || chunks == 0;
  };
  for (const RecordedStep& step : run.run().steps) {
    uint32_t used = 0;
    uint32_t fresh = 0;
    if (step.kind == RecordedStep::Kind::kWork) {
      for (const ChunkIndex c : run.chunks(run.run().works[step.index].set)) used |= 1u << c.value;
    } else if (step.kind == RecordedStep::Kind::kAllocate) {
      fresh = of_allocation(step.index);
      live |= fresh;
      if (run.count(step.index) == 0) packed += run.run().allocations[step.index].size;
    } else {
      live &= ~of_allocation(step.index);
      if (run.count(step.index) == 0) packed -= run.run().allocations[step.index].size;
    }
    std::map<uint32_t, uint64_t> after;
    for (const auto& [before, cost] : costs) {
      const uint64_t fetched = static_cast<uint64_t>(std::popcount(used & ~before));
      for (uint32_t chunks = live;; chunks = (chunks - 1) & live) {
        if (fits(chunks)) {
          // What nobody asked for was moved in ahead.
          const int ahead = std::popcount(chunks & ~(before | used | fresh));
          const uint64_t sum = cost + fetched + static_cast<uint64_t>(ahead);
          const auto [at, added] = after.emplace(chunks, sum);
          at->second = std::min(at->second, sum);
        }
        if (chunks == 0) break;
      }
    }
    costs = std::move(after);
  }
  uint64_t least = UINT64_MAX;
  for (const auto& [chunks, cost] : costs) least = std::min(least, cost);
  return least;
}

// At most `most` chunks in all, allocations of up to `largest` granules.
RecordedRun TinyRun(uint64_t seed, uint32_t most, uint32_t largest) {
  std::mt19937_64 random(seed);
  const auto below = [&](uint64_t n) { return static_cast<uint32_t>(random() % n); };
  RunBuilder builder;
  std::map<uint32_t, uint32_t> live;  // To its chunks.
  uint32_t made = 0;
  for (int step = 0; step < 26; ++step) {
    const uint32_t kind = below(10);
    if (kind == 0 && live.size() > 1) {
      const auto goes = std::next(live.begin(), below(live.size()));
      builder.Free(goes->first);
      live.erase(goes);
    } else if (kind == 1 && made > 0) {
      live[builder.Allocate(KiB(1024 - below(8)))] = 0;
    } else if ((kind <= 3 || live.empty()) && made < most) {
      const uint32_t granules = 1 + below(largest);
      const auto chunks = static_cast<uint32_t>(std::popcount(granules));
      if (made + chunks > most) continue;
      made += chunks;
      live[builder.Allocate(kGranularity * granules)] = chunks;
    } else if (!live.empty()) {
      std::vector<uint32_t> touched;
      for (uint32_t n = 1 + below(3); n > 0; --n) {
        touched.push_back(std::next(live.begin(), below(live.size()))->first);
      }
      builder.Work(touched);
    }
  }
  return builder.Take();
}

TEST(MinFetches, IsTheLeastOfAllSchedulesWithEqualChunks) {
  uint64_t sum = 0;
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    const RecordedRun run = TinyRun(seed, 6, 1);
    ASSERT_TRUE(run.Check().ok()) << run.Check();
    const ChunkedRun chunked(&run, 21, GiB(1));
    ASSERT_TRUE(MinIsExact(chunked));
    // Budgets that are no whole number of chunks as well.
    const Bytes memory = MiB(seed % 9);
    const uint64_t least = LeastOfAll(chunked, memory);
    ASSERT_EQ(MinFetches(chunked, memory), least) << "seed " << seed;
    sum += least;
  }
  EXPECT_GT(sum, 300u) << "nothing was short of room";
}

TEST(MinFetches, IsNeverAboveTheLeastWithUnequalChunks) {
  int unequal = 0;
  uint64_t bounds = 0;
  uint64_t leasts = 0;
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    const RecordedRun run = TinyRun(seed, 7, 7);
    ASSERT_TRUE(run.Check().ok()) << run.Check();
    const ChunkedRun chunked(&run, 23, GiB(1));
    unequal += !MinIsExact(chunked);
    const Bytes memory = MiB(seed % 24);
    const uint64_t least = LeastOfAll(chunked, memory);
    const uint64_t bound = MinFetches(chunked, memory);
    ASSERT_LE(bound, least) << "seed " << seed;
    bounds += bound;
    leasts += least;
  }
  EXPECT_GT(unequal, 150);
  // Not a promise, but a bound that has become useless should be seen.
  EXPECT_GT(static_cast<double>(bounds), 0.8 * static_cast<double>(leasts));
}

// Chunk by chunk in plain lists, equal sizes, as Belady says it.
uint64_t PlainMin(const ChunkedRun& run, Bytes device_memory) {
  std::vector<std::vector<ChunkIndex>> works;
  for (const RecordedWork& work : run.run().works) {
    const auto chunks = run.chunks(work.set);
    works.emplace_back(chunks.begin(), chunks.end());
  }
  const auto next_use = [&](ChunkIndex c, size_t after) {
    for (size_t w = after; w < works.size(); ++w) {
      if (std::find(works[w].begin(), works[w].end(), c) != works[w].end()) return w;
    }
    return works.size();
  };
  std::set<ChunkIndex> present;
  uint64_t fetches = 0;
  size_t w = 0;
  for (const RecordedStep& step : run.run().steps) {
    if (step.kind == RecordedStep::Kind::kAllocate) {
      for (uint32_t i = 0; i < run.count(step.index); ++i) {
        present.insert(ChunkIndex(run.first(step.index).value + i));
      }
    } else if (step.kind == RecordedStep::Kind::kFree) {
      for (uint32_t i = 0; i < run.count(step.index); ++i) {
        present.erase(ChunkIndex(run.first(step.index).value + i));
      }
    } else {
      for (const ChunkIndex c : works[w]) fetches += present.insert(c).second;
      ++w;
    }
    while (present.size() > device_memory / run.size(ChunkIndex(1))) {
      present.erase(*std::max_element(
          present.begin(), present.end(),
          [&](ChunkIndex a, ChunkIndex b) { return next_use(a, w) < next_use(b, w); }));
    }
  }
  return fetches;
}

TEST(MinFetches, IsBeladysOnLongerRuns) {
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    const RecordedRun run =
        RandomRun(seed, {.size = MiB(4), .most_touched = 5, .frees = seed % 2 == 0});
    for (const int log2 : {21, 22}) {
      const ChunkedRun chunked(&run, log2, GiB(1));
      const Bytes memory = MiB(4 + 2 * (seed % 20));
      ASSERT_EQ(MinFetches(chunked, memory), PlainMin(chunked, memory)) << "seed " << seed;
    }
  }
}

TEST(MinFetches, OfALoopIsWhatHasNoPlace) {
  const RecordedRun run = LoopRun(10, 100);
  const ChunkedRun chunked(&run, 0, GiB(1));
  EXPECT_EQ(MinFetches(chunked, MiB(20)), 0u);
  EXPECT_EQ(MinFetches(chunked, GiB(1)), 0u);
  // Nothing stays: each use but none of the first's, for it was never on the device.
  EXPECT_EQ(MinFetches(chunked, Bytes()), 1000u);
  // Of every lap, as many miss as have no place.
  EXPECT_EQ(MinFetches(chunked, MiB(12)), 4u * 100);
}

TEST(PositionSet, KnowsItsGreatest) {
  for (const size_t bound : {1u, 63u, 64u, 65u, 4096u, 4097u, 300000u}) {
    PositionSet positions(bound);
    std::set<size_t> model;
    std::mt19937 random(5);
    for (int i = 0; i < 3000; ++i) {
      const size_t n = random() % bound;
      if (random() % 2 == 0) {
        positions.Insert(n);
        model.insert(n);
      } else {
        positions.Erase(n);
        model.erase(n);
      }
      ASSERT_EQ(positions.Contains(n), model.contains(n));
      ASSERT_EQ(positions.Empty(), model.empty());
      if (model.empty()) continue;
      ASSERT_EQ(positions.Greatest(), *model.rbegin());
    }
  }
}

}  // namespace
}  // namespace vramspan::replay
