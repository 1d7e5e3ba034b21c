#include "tools/replay/cache_model.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <list>
#include <map>
#include <random>

#include "tests/placement/policy_run.h"
#include "tests/replay/cache_models.h"
#include "tests/replay/random_run.h"
#include "tools/replay/bound.h"
#include "tools/replay/load_trace.h"

namespace vramspan::replay {
namespace {

constexpr std::string_view kModelled[] = {"fifo",   "lru", "clock", "sieve",
                                          "s3fifo", "arc", "lfu",   "min"};

constexpr size_t kMostAccesses = 30'000;  // The models are slow.

// One access a work, of allocations of one chunk; ids from 1 on.
RecordedRun OneByOne(const std::vector<uint32_t>& accesses) {
  RunBuilder builder;
  for (uint32_t n = *std::max_element(accesses.begin(), accesses.end()); n > 0; --n) {
    builder.Allocate(MiB(2));
  }
  for (const uint32_t id : accesses) builder.Work(std::vector<uint32_t>{id - 1});
  return builder.Take();
}

uint64_t Misses(const ChunkedRun& run, std::string_view policy, size_t room) {
  const auto counts = RunCache(run, policy, kGranularity * room);
  EXPECT_TRUE(counts.ok()) << counts.status();
  return counts.ok() ? counts->misses : UINT64_MAX;
}

TEST(CacheModel, CountsAsTheModelsDo) {
  for (uint32_t seed = 1; seed <= 60; ++seed) {
    const std::vector<uint32_t> accesses = RandomTrace(seed, seed % 20 == 0 ? 4000 : 500);
    const RecordedRun run = OneByOne(accesses);
    const ChunkedRun chunked(&run, 0, GiB(64));
    const size_t room = 1 + seed % 40;
    for (const std::string_view policy : kModelled) {
      const auto model = MakeCacheModel(policy, room, /*ours=*/true, accesses);
      ASSERT_EQ(Misses(chunked, policy, room), ModelMisses(*model, accesses))
          << policy << ", seed " << seed << ", room " << room;
    }
  }
}

// Where nothing differs by design the misses are libCacheSim's; where something does they are near.
TEST(CacheModel, CountsAsLibCacheSimDefinesIt) {
  std::map<std::string_view, std::pair<uint64_t, uint64_t>> all;  // Ours and libCacheSim's.
  for (uint32_t seed = 1; seed <= 60; ++seed) {
    const std::vector<uint32_t> accesses = RandomTrace(seed, 2000);
    const RecordedRun run = OneByOne(accesses);
    const ChunkedRun chunked(&run, 0, GiB(64));
    const size_t room = 10 * (1 + seed % 4);
    for (const std::string_view policy : kModelled) {
      const auto model = MakeCacheModel(policy, room, /*ours=*/false, accesses);
      const uint64_t theirs = ModelMisses(*model, accesses);
      const uint64_t ours = Misses(chunked, policy, room);
      all[policy].first += ours;
      all[policy].second += theirs;
      if (policy == "fifo" || policy == "lru" || policy == "sieve") {
        ASSERT_EQ(ours, theirs) << policy << ", seed " << seed << ", room " << room;
      }
      if (policy == "min") {
        ASSERT_LE(ours, theirs);
        ASSERT_EQ(MinMisses(chunked, kGranularity * room, /*bypass=*/false), theirs);
      }
    }
  }
  const auto ratio = [&](std::string_view policy) {
    return static_cast<double>(all[policy].first) / static_cast<double>(all[policy].second);
  };
  // Not promises: what was seen, rounded up.
  EXPECT_NEAR(ratio("s3fifo"), 1, 0.02);
  EXPECT_NEAR(ratio("arc"), 1, 0.02);
  EXPECT_NEAR(ratio("clock"), 1, 0.06);
}

// The same on what was recorded on GPUs (examples/traces), chunk by chunk, each as large as any.
TEST(CacheModel, CountsAsLibCacheSimDefinesItOnTheTracesThatAreShipped) {
  size_t traces = 0;
  for (const auto& file : std::filesystem::directory_iterator(VRAMSPAN_TRACES)) {
    if (file.path().extension() != ".vramspan") continue;
    const auto recorded = LoadTrace(file.path().string());
    ASSERT_TRUE(recorded.ok()) << recorded.status();
    const ChunkedRun cut(&*recorded, kMaxChunkLog2, recorded->PeakBytes());
    std::vector<uint32_t> accesses;
    std::map<uint32_t, uint32_t> ids;  // From 1 on.
    for (const RecordedWork& work : recorded->works) {
      for (const ChunkIndex c : cut.chunks(work.set)) {
        const auto next = static_cast<uint32_t>(ids.size() + 1);
        accesses.push_back(ids.try_emplace(c.value, next).first->second);
        if (accesses.size() == kMostAccesses) break;
      }
      if (accesses.size() == kMostAccesses) break;
    }
    if (ids.size() < 8) continue;  // There is nothing to choose between.
    ++traces;
    const RecordedRun run = OneByOne(accesses);
    const ChunkedRun chunked(&run, 0, GiB(64));
    for (const size_t part : {4, 2}) {
      const size_t room = ids.size() / part;
      for (const std::string_view policy : kModelled) {
        const auto model = MakeCacheModel(policy, room, /*ours=*/true, accesses);
        const uint64_t ours = Misses(chunked, policy, room);
        ASSERT_EQ(ours, ModelMisses(*model, accesses)) << policy << " on " << file.path();
        const auto their_model = MakeCacheModel(policy, room, /*ours=*/false, accesses);
        const uint64_t theirs = ModelMisses(*their_model, accesses);
        if (policy == "fifo" || policy == "lru" || policy == "sieve") {
          ASSERT_EQ(ours, theirs) << policy << " on " << file.path();
        }
        if (policy == "min") {
          ASSERT_LE(ours, theirs) << file.path();
          ASSERT_EQ(MinMisses(chunked, kGranularity * room, /*bypass=*/false), theirs);
        }
      }
    }
  }
  EXPECT_GE(traces, 4u);
}

// The clock of libCacheSim is ours where the miss is not told as a use.
TEST(CacheModel, ClockDiffersOnlyInTheBitOfWhatComes) {
  for (uint32_t seed = 1; seed <= 40; ++seed) {
    const std::vector<uint32_t> accesses = RandomTrace(seed, 1000);
    const size_t room = 1 + seed % 30;
    const auto model = MakeCacheModel("clock", room, /*ours=*/false, accesses);
    const auto clock = Make("clock");
    std::set<uint32_t> present;
    for (const uint32_t id : accesses) {
      ASSERT_EQ(present.contains(id), model->Hit(id));
      if (present.contains(id)) {
        clock->OnUse(ChunkIndex(id));
        continue;
      }
      if (present.size() == room) {
        const uint32_t victim = Offered(*clock, 1).at(0);
        clock->OnRemove(ChunkIndex(victim));
        present.erase(victim);
      }
      clock->OnInsert(ChunkIndex(id));
      present.insert(id);
    }
  }
}

// Sizes, frees and works of several chunks, against a list.
TEST(CacheModel, LruByBytes) {
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    const RecordedRun run = RandomRun(seed, {.varied = true, .frees = true});
    const ChunkedRun chunked(&run, 24, GiB(64));
    const Bytes room = MiB(seed * 5);
    std::list<ChunkIndex> order;
    std::set<ChunkIndex> seen;
    CacheCounts expected;
    for (const RecordedStep& step : run.steps) {
      if (step.kind == RecordedStep::Kind::kFree) {
        order.remove_if([&](ChunkIndex c) { return chunked.allocation(c) == step.index; });
      }
      if (step.kind != RecordedStep::Kind::kWork) continue;
      for (const ChunkIndex c : chunked.chunks(run.works[step.index].set)) {
        ++expected.accesses;
        const bool hit = std::find(order.begin(), order.end(), c) != order.end();
        if (seen.insert(c).second) {
          ++expected.first_touches;
        } else if (!hit) {
          ++expected.misses;
          expected.missed += chunked.size(c);
        }
        if (chunked.size(c) > room) continue;
        order.remove(c);
        order.push_back(c);
        const auto held = [&] {
          Bytes sum;
          for (const ChunkIndex o : order) sum += chunked.size(o);
          return sum;
        };
        while (held() > room) order.pop_front();
      }
    }
    const CacheCounts counts = RunCache(chunked, "lru", room).value();
    ASSERT_EQ(counts.accesses, expected.accesses);
    ASSERT_EQ(counts.first_touches, expected.first_touches);
    ASSERT_EQ(counts.misses, expected.misses) << "seed " << seed;
    ASSERT_EQ(counts.missed, expected.missed);
    EXPECT_EQ(counts.hits(), expected.accesses - expected.first_touches - expected.misses);
  }
}

TEST(CacheModel, MinIsTheFloor) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const RecordedRun run = RandomRun(seed, {.varied = true, .frees = true});
    for (const int log2 : {21, 24}) {
      const ChunkedRun chunked(&run, log2, GiB(64));
      for (const uint64_t size : {0, 8, 16, 40, 100, 200}) {
        const uint64_t floor = RunCache(chunked, "min", MiB(size)).value().misses;
        for (const std::string_view policy : CachePolicyNames()) {
          EXPECT_GE(RunCache(chunked, policy, MiB(size)).value().misses, floor) << policy;
        }
        // Whole works ask for less; what they count of first touches is not a miss here.
        EXPECT_LE(MinFetches(chunked, MiB(size)),
                  floor + RunCache(chunked, "lru", Bytes()).value().first_touches);
      }
    }
  }
}

TEST(CacheModel, RefusesWhatItDoesNotKnow) {
  const RecordedRun run = LoopRun(2, 2);
  const ChunkedRun chunked(&run, 0, GiB(1));
  EXPECT_EQ(RunCache(chunked, "belady", MiB(2)).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(CachePolicyNames(), ::testing::Contains("min"));
}

}  // namespace
}  // namespace vramspan::replay
