#include "tools/replay/min_schedule.h"

#include <gtest/gtest.h>

#include "tests/replay/random_run.h"
#include "tools/replay/bound.h"

namespace vramspan::replay {
namespace {

// What has a place between each two works, as the schedule says, and what that comes to.
struct Followed {
  uint64_t fetches = 0;
  Bytes most;
};
Followed Follow(const ChunkedRun& chunks, const MinSchedule& schedule) {
  Followed result;
  std::vector<bool> there(chunks.end());
  Bytes used;
  const auto put = [&](ChunkIndex c, bool stays) {
    if (there[c.value]) used -= chunks.size(c);
    if (stays) used += chunks.size(c);
    there[c.value] = stays;
  };
  for (const RecordedStep& step : chunks.run().steps) {
    if (step.kind == RecordedStep::Kind::kWork) {
      result.most = std::max(result.most, used);
      const auto used_chunks = chunks.chunks(chunks.run().works[step.index].set);
      for (size_t i = 0; i < used_chunks.size(); ++i) {
        result.fetches += !there[used_chunks[i].value];
        put(used_chunks[i], schedule.Keeps(step.index, i));
      }
      continue;
    }
    for (uint32_t i = 0; i < chunks.count(step.index); ++i) {
      const ChunkIndex c(chunks.first(step.index).value + i);
      put(c, step.kind == RecordedStep::Kind::kAllocate && schedule.KeepsFirst(c));
    }
  }
  return result;
}

TEST(MinSchedule, FitsAndFetchesAsLittleAsCanBe) {
  for (uint64_t seed = 1; seed < 40; ++seed) {
    const RecordedRun run = RandomRun(seed, {.varied = true, .frees = seed % 2 == 0});
    for (const uint64_t percent : {0, 10, 50, 90, 100}) {
      const Bytes budget(run.PeakBytes().value * percent / 100);
      const ChunkedRun equal(&run, kMinChunkLog2, budget);
      const MinSchedule schedule(equal, budget);
      const Followed followed = Follow(equal, schedule);
      EXPECT_EQ(followed.fetches, MinFetches(equal, budget)) << seed << ", " << percent;
      EXPECT_EQ(followed.fetches, schedule.fetches());
      EXPECT_LE(followed.most, budget);
      // Of several sizes it is a schedule, and the bound is below all.
      const ChunkedRun unequal(&run, 23, budget);
      const Followed other = Follow(unequal, MinSchedule(unequal, budget));
      EXPECT_GE(other.fetches, MinFetches(unequal, budget));
      EXPECT_LE(other.most, budget);
    }
  }
}

TEST(MinSchedule, KnowsTheNextUse) {
  const RecordedRun run = LoopRun(3, 4);
  const ChunkedRun chunks(&run, kMinChunkLog2, MiB(4));
  const MinSchedule schedule(chunks, MiB(4));
  for (uint32_t w = 0; w < run.works.size(); ++w) {
    EXPECT_EQ(schedule.NextUse(w, 0), w + 3 < run.works.size() ? w + 3 : MinSchedule::kNotAgain);
  }
  EXPECT_EQ(schedule.FirstUse(ChunkIndex(3)), 2u);
}

}  // namespace
}  // namespace vramspan::replay
