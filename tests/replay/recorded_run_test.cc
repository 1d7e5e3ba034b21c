#include <gmock/gmock.h>

#include "tests/replay/random_run.h"
#include "tools/replay/chunked_run.h"

namespace vramspan::replay {
namespace {

TEST(RecordedRun, EqualSetsAreKeptOnce) {
  const RecordedRun run = LoopRun(4, 100);
  EXPECT_EQ(run.sets(), 4u);
  EXPECT_EQ(run.works.size(), 400u);
  EXPECT_TRUE(run.Check().ok()) << run.Check();
  EXPECT_EQ(run.PeakBytes(), MiB(8));
  EXPECT_EQ(run.Duration(), 400u * 100000);
}

// As a replay counts it, so that the two can be compared.
TEST(RecordedRun, LastsUntilTheLastAllocationOrFree) {
  RecordedRun run = LoopRun(4, 100);
  const uint64_t end = 400u * 100000;
  run.allocations[0].freed = run.works[0].submitted + end + 7;
  EXPECT_EQ(run.Duration(), end + 7);
  run.allocations.push_back({.base = DevicePtr(1), .size = MiB(2)});
  run.allocations.back().allocated = run.works[0].submitted + end + 9;
  EXPECT_EQ(run.Duration(), end + 9);
}

TEST(RecordedRun, RandomRunsHoldTogether) {
  for (uint64_t seed = 1; seed < 20; ++seed) {
    const RecordedRun run = RandomRun(seed, {.varied = true, .streams = 3, .frees = true});
    EXPECT_TRUE(run.Check().ok()) << run.Check();
  }
}

TEST(RecordedRun, ContradictionsAreFound) {
  RecordedRun run = LoopRun(2, 1);
  run.steps.push_back({RecordedStep::Kind::kFree, 0});
  EXPECT_TRUE(run.Check().ok());
  run.steps.push_back({RecordedStep::Kind::kFree, 0});
  EXPECT_FALSE(run.Check().ok());
  run = LoopRun(2, 1);
  run.AddSet({{.allocation = 1, .offset = MiB(1).value, .size = MiB(1).value + 1}});
  EXPECT_FALSE(run.Check().ok());
  run = LoopRun(2, 1);
  run.works.emplace_back();
  EXPECT_FALSE(run.Check().ok());
  run = LoopRun(2, 1);
  run.waits = {{.time = 5, .duration = 5}, {.time = 7, .duration = 1}};
  EXPECT_TRUE(run.Check().ok()) << run.Check();
  std::swap(run.waits[0], run.waits[1]);
  EXPECT_FALSE(run.Check().ok());
  run.waits = {{.time = 5, .duration = 6}};
  EXPECT_FALSE(run.Check().ok());
  // Before its allocation, behind another that comes earlier, beyond its end, and behind all steps.
  run = LoopRun(2, 1);
  const RecordedDiscard right{.allocation = 1, .size = MiB(2).value, .step = 4};
  run.discards = {right};
  EXPECT_TRUE(run.Check().ok()) << run.Check();
  for (const RecordedDiscard& wrong :
       {RecordedDiscard{.allocation = 1, .size = 1, .step = 1},
        RecordedDiscard{.allocation = 1, .size = 1, .step = 3},
        RecordedDiscard{.allocation = 1, .offset = 1, .size = MiB(2).value, .step = 4},
        RecordedDiscard{.allocation = 2, .size = 1, .step = 4},
        RecordedDiscard{.allocation = 1, .size = 1, .step = 5}}) {
    run.discards = {right, wrong};
    EXPECT_FALSE(run.Check().ok());
  }
}

// Each range is looked up in all chunks, one by one.
TEST(ChunkedRun, SetsNameTheChunksTheirRangesTouch) {
  for (const int log2 : {0, 21, 23, 26}) {
    RunBuilder builder;
    const uint32_t small = builder.Allocate(MiB(1));
    const uint32_t a = builder.Allocate(MiB(39));
    const uint32_t b = builder.Allocate(MiB(300) + Bytes(5));
    for (uint64_t at = 0; at < 39; ++at) {
      builder.Work({{.allocation = a, .offset = MiB(at).value, .size = MiB(1).value + 1, .slot = 3},
                    {.allocation = small, .offset = 0, .size = 7},
                    {.allocation = b, .offset = MiB(7 * at).value, .size = MiB(27).value},
                    {.allocation = a, .offset = 0, .size = 1, .write = false, .exact = true}},
                   10, 0);
    }
    RecordedRun run = builder.Take();
    const ChunkedRun chunked(&run, log2, GiB(80));
    EXPECT_EQ(chunked.count(small), 0u);
    for (const uint32_t whole : {a, b}) {
      Bytes sum;
      for (uint32_t i = 0; i < chunked.count(whole); ++i) {
        const ChunkIndex c(chunked.first(whole).value + i);
        EXPECT_EQ(chunked.offset(c), sum);
        EXPECT_EQ(chunked.allocation(c), whole);
        sum += chunked.size(c);
      }
      EXPECT_EQ(sum, RoundUp(run.allocations[whole].size, kGranularity));
    }
    for (uint32_t s = 0; s < run.sets(); ++s) {
      std::vector<ChunkIndex> expected;
      for (const RecordedRange& r : run.set(s)) {
        for (uint32_t i = 0; i < chunked.count(r.allocation); ++i) {
          const ChunkIndex c(chunked.first(r.allocation).value + i);
          const bool touched = chunked.offset(c) < Bytes(r.offset + r.size) &&
                               Bytes(r.offset) < chunked.offset(c) + chunked.size(c);
          if (touched && std::find(expected.begin(), expected.end(), c) == expected.end()) {
            expected.push_back(c);
          }
        }
      }
      EXPECT_THAT(chunked.chunks(s), ::testing::ElementsAreArray(expected));
    }
  }
}

}  // namespace
}  // namespace vramspan::replay
