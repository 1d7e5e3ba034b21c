#include "tools/replay/lru_curve.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <list>
#include <random>

#include "tests/replay/random_run.h"
#include "tools/replay/cache_model.h"
#include "tools/replay/stack_distances.h"

namespace vramspan::replay {
namespace {

uint64_t LruMisses(const ChunkedRun& run, Bytes room) {
  return RunCache(run, "lru", room).value().misses;
}

// From the largest chunk to more than there is.
std::vector<Bytes> Rooms(const ChunkedRun& run) {
  Bytes largest, all;
  for (uint32_t c = 1; c < run.end(); ++c) {
    largest = std::max(largest, run.size(ChunkIndex(c)));
    all += run.size(ChunkIndex(c));
  }
  std::vector<Bytes> rooms;
  for (Bytes room = largest; room <= all + MiB(4); room += kGranularity) rooms.push_back(room);
  return rooms;
}

void ExpectExact(const RecordedRun& run, int chunk_log2, const std::string& what) {
  const ChunkedRun chunked(&run, chunk_log2, GiB(64));
  const LruCurve curve = LruCurve::Exact(chunked);
  EXPECT_EQ(curve.accesses(), RunCache(chunked, "lru", GiB(1))->accesses);
  EXPECT_FALSE(curve.sampled());
  for (const Bytes room : Rooms(chunked)) {
    ASSERT_EQ(curve.misses(room), static_cast<double>(LruMisses(chunked, room)))
        << what << ", room " << room.value / MiB(1).value << " MiB";
    EXPECT_EQ(curve.error(room), 0);
  }
}

TEST(LruCurve, IsLruInEveryRoom) {
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    const std::string what = "seed " + std::to_string(seed);
    ExpectExact(RandomRun(seed, {.works = 300}), 21, what);
    ExpectExact(RandomRun(seed, {.works = 200, .varied = true, .most_touched = 4}), 23, what);
  }
}

TEST(LruCurve, WhatIsFreedLeavesItsRoom) {
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    const std::string what = "seed " + std::to_string(seed);
    ExpectExact(RandomRun(seed, {.works = 300, .frees = true}), 21, what);
    ExpectExact(RandomRun(seed, {.works = 150, .varied = true, .most_touched = 2, .frees = true}),
                21, what);
  }
}

TEST(LruCurve, IsNearWhereUnequalChunksAreFreed) {
  double sum = 0;
  double off = 0;
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    const RecordedRun run = RandomRun(seed, {.works = 300, .varied = true, .frees = true});
    const ChunkedRun chunked(&run, 24, GiB(64));
    const LruCurve curve = LruCurve::Exact(chunked);
    for (const Bytes room : Rooms(chunked)) {
      const auto misses = static_cast<double>(LruMisses(chunked, room));
      sum += misses;
      off += std::abs(curve.misses(room) - misses);
    }
  }
  EXPECT_LT(off, 0.02 * sum);
}

// A list, most recently used first; null where something was freed.
TEST(StackDistances, AreThoseOfAList) {
  for (uint32_t seed = 1; seed <= 4; ++seed) {
    std::mt19937 random(seed);
    constexpr uint32_t kEnd = 400;
    StackDistances distances(kEnd);
    std::list<ChunkIndex> order;
    // So long that times run out often, and with a few of much more than a block.
    for (int step = 0; step < 30000; ++step) {
      const ChunkIndex c(1 + std::min(random() % (kEnd - 1), random() % (kEnd - 1)));
      const auto at = std::find(order.begin(), order.end(), c);
      if (random() % 50 == 0) {
        distances.Free(c);
        if (at != order.end()) *at = ChunkIndex();
        continue;
      }
      if (random() % 200 == 0) {
        distances.Forget(c);
        order.remove(c);
        continue;
      }
      const auto expected = at == order.end()
                                ? StackDistances::kFirst
                                : 3 * (1 + static_cast<uint32_t>(std::distance(order.begin(), at)));
      ASSERT_EQ(distances.Access(c, 3), expected) << "step " << step;
      const auto hole = std::find(order.begin(), at, ChunkIndex());
      if (hole != at) {
        if (at != order.end()) *at = ChunkIndex();
        order.erase(hole);
      } else if (at != order.end()) {
        order.erase(at);
      }
      order.push_front(c);
    }
  }
}

// Chunks by Zipf's law among many, and in between parts of a loop; some are freed.
RecordedRun LargeRun(uint32_t chunks, uint32_t works, bool frees) {
  std::mt19937_64 random(3);
  RunBuilder builder;
  std::vector<uint32_t> live(chunks);
  for (uint32_t& a : live) a = builder.Allocate(MiB(2));
  uint32_t loop = 0;
  for (uint32_t w = 0; w < works; ++w) {
    if (frees && w % 20 == 0) {
      uint32_t& goes = live[random() % chunks];
      builder.Free(goes);
      goes = builder.Allocate(MiB(2));
    }
    const double u = std::uniform_real_distribution<double>(0, std::log(chunks))(random);
    const bool looping = w / 50000 % 2 == 1;
    const uint32_t i = looping ? loop++ % (chunks / 2) : static_cast<uint32_t>(std::exp(u)) - 1;
    builder.Work(std::vector<uint32_t>{live[i * 7919ull % chunks]});
  }
  return builder.Take();
}

struct Deviation {
  double mean = 0;       // Of the miss ratio, over the rooms.
  double estimated = 0;  // As the curve has it.
};

Deviation Compare(const LruCurve& exact, const LruCurve& sampled, uint32_t chunks) {
  Deviation deviation;
  const auto accesses = static_cast<double>(exact.accesses());
  for (uint32_t i = 1; i <= 100; ++i) {
    const Bytes room = kGranularity * (uint64_t{chunks} * i / 100);
    deviation.mean += std::abs(exact.misses(room) - sampled.misses(room)) / accesses / 100;
    deviation.estimated += sampled.error(room) / 100;
  }
  return deviation;
}

TEST(LruCurve, ASampleIsNearAndSaysHowNear) {
  constexpr uint32_t kChunks = 30000;
  for (const bool frees : {false, true}) {
    const RecordedRun run = LargeRun(kChunks, 300000, frees);
    const ChunkedRun chunked(&run, 0, GiB(64));
    const LruCurve exact = LruCurve::Exact(chunked);
    double mean = 0;
    double estimated = 0;
    for (uint64_t seed = 1; seed <= 6; ++seed) {
      for (const SampleOptions& options : {SampleOptions{.rate = 0.1, .seed = seed},
                                           SampleOptions{.most_chunks = 3000, .seed = seed}}) {
        const LruCurve sampled = LruCurve::Sampled(chunked, options);
        EXPECT_TRUE(sampled.sampled());
        // Not all chunks are accessed.
        EXPECT_GE(sampled.rate(), 0.1 - 1e-9);
        EXPECT_LT(sampled.rate(), options.most_chunks == 0 ? 0.1 + 1e-9 : 0.2);
        EXPECT_EQ(sampled.accesses(), exact.accesses());
        const Deviation deviation = Compare(exact, sampled, kChunks);
        EXPECT_LT(deviation.mean, 0.04) << seed;
        mean += deviation.mean / 12;
        estimated += deviation.estimated / 12;
      }
    }
    // One standard error is passed a third of the time and is larger than the mean deviation.
    EXPECT_GT(estimated, mean) << "the error is said to be less than it is";
    EXPECT_LT(estimated, mean * 1.6) << "the error is said to be more than it is";
  }
}

TEST(LruCurve, AllOfThemAreNoSample) {
  const RecordedRun run = LargeRun(500, 5000, true);
  const ChunkedRun chunked(&run, 0, GiB(64));
  const LruCurve exact = LruCurve::Exact(chunked);
  for (const uint32_t most : {0u, 10000u}) {
    const LruCurve all = LruCurve::Sampled(chunked, {.rate = 1, .most_chunks = most});
    EXPECT_FALSE(all.sampled());
    for (const Bytes room : Rooms(chunked)) {
      ASSERT_NEAR(all.misses(room), exact.misses(room), 1e-6);
      ASSERT_EQ(all.error(room), 0);
    }
  }
}

TEST(LruCurve, OfNothing) {
  const RecordedRun run;
  const ChunkedRun chunked(&run, 0, GiB(1));
  const LruCurve curve = LruCurve::Exact(chunked);
  EXPECT_EQ(curve.accesses(), 0u);
  EXPECT_EQ(curve.misses(MiB(2)), 0);
}

}  // namespace
}  // namespace vramspan::replay
