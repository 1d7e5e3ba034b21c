// What work may touch, and nobody was handed.
#include "runtime/scheduler/untouched_chunks.h"

#include <gmock/gmock.h>

#include <array>
#include <vector>

namespace vramspan {
namespace {

using ::testing::ElementsAre;

std::vector<uint32_t> LeftOf(std::vector<uint32_t> chunks, size_t likely, size_t* possible,
                             std::vector<uint32_t> freed, bool told = true) {
  std::array<Chunk, 8> table;
  // Far from each other, but for 6 and 7.
  for (size_t i = 0; i < table.size(); ++i) {
    table[i].log2_size = kMinChunkLog2;
    table[i].base = DevicePtr(i << 30);
  }
  table[7].base = table[6].base + kGranularity;
  for (const uint32_t chunk : freed) table[chunk].contents = Contents::kFreed;
  std::vector<ChunkUse> all;
  UntouchedChunks untouched;
  std::vector<Neighbours> neighbours;
  for (const uint32_t chunk : chunks) {
    const bool may = all.size() >= likely;
    all.push_back({ChunkIndex(chunk), {.possible = may, .told = may && told}});
  }
  const auto chunk_of = [&](ChunkIndex i) -> const Chunk& { return table[i.value]; };
  untouched.Find(all, chunk_of, &neighbours);
  EXPECT_EQ(neighbours.empty(), !told || all.size() == likely);
  *possible = untouched.LeaveOut(likely, *possible, neighbours, chunk_of, &all);
  std::vector<uint32_t> left;
  for (const ChunkUse& use : all) left.push_back(use.chunk.value);
  return left;
}

TEST(UntouchedChunksTest, WhatIsNobodysIsLeftOutOfWhatIsPossible) {
  size_t possible = 3;
  EXPECT_THAT(LeftOf({1, 2, 3, 4, 5, 6}, 2, &possible, {3, 5}), ElementsAre(1, 2, 4, 6));
  EXPECT_EQ(possible, 1u);
}

TEST(UntouchedChunksTest, WhatIsNamedStays) {
  size_t possible = 1;
  EXPECT_THAT(LeftOf({1, 2, 3}, 2, &possible, {1, 2}), ElementsAre(1, 2, 3));
  EXPECT_EQ(possible, 1u);
}

TEST(UntouchedChunksTest, WhatLiesRightBesideWhatIsNamedStays) {
  size_t possible = 2;
  EXPECT_THAT(LeftOf({6, 7, 1}, 1, &possible, {7, 1}), ElementsAre(6, 7));
  EXPECT_EQ(possible, 1u);
  possible = 2;
  EXPECT_THAT(LeftOf({7, 1, 6}, 1, &possible, {6, 1}), ElementsAre(7, 6));
  EXPECT_EQ(possible, 1u);
}

// A view may begin in the chunk before, and its array end in this one.
TEST(UntouchedChunksTest, WhatLiesRightBesideWhatMayBeTouchedStays) {
  size_t possible = 2;
  EXPECT_THAT(LeftOf({1, 6, 7}, 1, &possible, {7}), ElementsAre(1, 6, 7));
  EXPECT_EQ(possible, 2u);
  possible = 2;
  EXPECT_THAT(LeftOf({1, 6, 7}, 1, &possible, {6, 7}), ElementsAre(1));
  EXPECT_EQ(possible, 0u);
}

// An arena, of which its owner has given parts to another allocator, and had them back.
TEST(UntouchedChunksTest, WhatIsNamedByNoBlockStays) {
  size_t possible = 1;
  EXPECT_THAT(LeftOf({1, 3}, 1, &possible, {3}, /*told=*/false), ElementsAre(1, 3));
  EXPECT_EQ(possible, 1u);
}

// By the time that work is released others may have given the rest back: it may have filled that.
TEST(UntouchedChunksTest, WhatStaysIsToldOnlyWhereItIsFree) {
  std::array<Chunk, 4> table;
  for (size_t i = 0; i < table.size(); ++i) {
    table[i].log2_size = kMinChunkLog2;
    table[i].base = DevicePtr(i * kGranularity.value);
  }
  table[2].contents = Contents::kFreed;
  const Use may{.possible = true, .told = true};
  std::vector<ChunkUse> all = {{ChunkIndex(1), {}}, {ChunkIndex(2), may}, {ChunkIndex(3), may}};
  UntouchedChunks untouched;
  std::vector<Neighbours> neighbours;
  const auto chunk_of = [&](ChunkIndex i) -> const Chunk& { return table[i.value]; };
  untouched.Find(all, chunk_of, &neighbours);
  EXPECT_EQ(untouched.LeaveOut(1, 2, neighbours, chunk_of, &all), 2u);
  ASSERT_EQ(all.size(), 3u);
  EXPECT_TRUE(all[1].how.told);
  EXPECT_FALSE(all[2].how.told);
}

TEST(UntouchedChunksTest, AllOfThemMayGo) {
  size_t possible = 1;
  EXPECT_THAT(LeftOf({1, 2}, 0, &possible, {1, 2}), ElementsAre());
  EXPECT_EQ(possible, 0u);
}

}  // namespace
}  // namespace vramspan
