// What launches may touch in a replay, where the program's allocator told of its blocks.
#include "tools/replay/known_sets.h"

#include <gmock/gmock.h>

#include <vector>

#include "tests/replay/random_run.h"
#include "tools/replay/replay_all.h"

namespace vramspan::replay {
namespace {

using ::testing::ElementsAre;

constexpr uint64_t kChunk = MiB(2).value;

std::vector<uint32_t> Indices(absl::Span<const ChunkUse> uses) {
  std::vector<uint32_t> all;
  for (const ChunkUse& use : uses) all.push_back(use.chunk.value);
  return all;
}

// A launch names the first of five chunks, and one of another allocation.
RecordedRun Named(bool told) {
  RunBuilder builder;
  builder.Allocate(Bytes(5 * kChunk));
  builder.Allocate(Bytes(kChunk));
  builder.Work({{.allocation = 0, .size = kChunk, .settled = true, .told = told},
                {.allocation = 1, .size = kChunk, .exact = true}},
               100, 0);
  RecordedRun run = builder.Take();
  run.setting.possible_told = true;
  // Far from each other.
  run.allocations[0].base = DevicePtr(uint64_t{1} << 40);
  run.allocations[1].base = DevicePtr(uint64_t{1} << 41);
  return run;
}

TEST(KnownSets, WhatIsNobodysIsNotMeantByAPointerToABlock) {
  for (const bool told : {true, false}) {
    const RecordedRun run = Named(told);
    const ChunkedRun chunks(&run, 21, GiB(1));
    std::vector<Chunk> table(8);
    for (const uint32_t free : {3, 4, 5}) table[free].contents = Contents::kFreed;
    const auto chunk_of = [&table](ChunkIndex c) -> const Chunk& { return table[c.value]; };
    for (const bool loose : {true, false}) {
      std::vector<ChunkUse> all;
      const KnownSets::Uses uses = chunks.known(loose).PossibleOf(0, chunk_of, &all);
      const std::vector<uint32_t> stay = Indices(uses.stay), mapped = Indices(uses.mapped_only);
      // What lies right beside the rest may be read a little.
      const std::vector<uint32_t> may =
          told ? std::vector<uint32_t>{2, 3} : std::vector<uint32_t>{2, 3, 4, 5};
      EXPECT_EQ(loose ? mapped : stay, may);
      EXPECT_TRUE((loose ? stay : mapped).empty());
    }
  }
}

// Each lap fills an allocation and has most of it back, and works on the rest beside another one.
RecordedRun Laps(bool told) {
  constexpr uint64_t kLarge = 32 * kChunk, kOther = 16 * kChunk;
  RunBuilder builder;
  builder.Allocate(Bytes(kLarge));
  builder.Allocate(Bytes(kOther));
  for (int lap = 0; lap < 12; ++lap) {
    const std::vector<RecordedRange> fills = {{.allocation = 0, .size = kLarge}};
    const std::vector<RecordedRange> works = {
        {.allocation = 0, .size = kChunk, .settled = true, .told = told},
        {.allocation = 1, .size = kOther}};
    builder.Work(fills, 1000, 0);
    builder.Work(works, 1000, 1);
  }
  RecordedRun run = builder.Take();
  run.setting.possible_told = true;
  using Kind = RecordedDiscard::Kind;
  for (uint32_t step = 3; step + 1 < run.steps.size(); step += 2) {
    const uint64_t time = run.works[step - 3].submitted;
    run.discards.push_back({time, 0, kChunk, kLarge - kChunk, step, Kind::kUnowned});
    run.discards.push_back({time + 1, 0, kChunk, kLarge - kChunk, step + 1, Kind::kOwned});
  }
  EXPECT_TRUE(run.Check().ok()) << run.Check();
  return run;
}

TEST(KnownSets, WhatIsNobodysIsNotFilledInAReplay) {
  const ReplaySetting setting{.policy = "cost",
                              .device_memory = Bytes(34 * kChunk),
                              .chunk_log2 = 21,
                              .overlap = ReplayOverlap::kSafe};
  const auto replay = [&](const RecordedRun& run) {
    return ReplayAll(run, {}, {setting}, 1, [](size_t) {}).front();
  };
  const ReplayResult whole = replay(Laps(false)), told = replay(Laps(true));
  EXPECT_LT(told.bytes_in.value * 3 / 2, whole.bytes_in.value);
  // Once it is somebody's, the same launches mean it again.
  RecordedRun owned = Laps(true);
  for (size_t i = 1; i < owned.discards.size(); i += 2) owned.discards[i].step -= 1;
  EXPECT_EQ(replay(owned).bytes_in, whole.bytes_in);
}

}  // namespace
}  // namespace vramspan::replay
