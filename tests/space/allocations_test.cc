#include "runtime/space/allocations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <random>
#include <string>

namespace vramspan {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr DevicePtr kBase(0x7f0000000000);

Allocation At(DevicePtr base, Bytes size) {
  return Allocation{.base = base, .requested = size, .reserved = RoundUp(size, kGranularity)};
}

TEST(ChunkSizesFor, FollowsTheRequest) {
  EXPECT_THAT(ChunkSizesFor(Bytes(1), 0), ElementsAre(21));
  EXPECT_THAT(ChunkSizesFor(MiB(2), 0), ElementsAre(21));
  EXPECT_THAT(ChunkSizesFor(MiB(2) + Bytes(1), 0), ElementsAre(22));
  EXPECT_THAT(ChunkSizesFor(MiB(20), 0), ElementsAre(24, 22));
  EXPECT_THAT(ChunkSizesFor(MiB(30), 0), ElementsAre(24, 23, 22, 21));
  EXPECT_THAT(ChunkSizesFor(MiB(32), 0), ElementsAre(25));
  EXPECT_THAT(ChunkSizesFor(MiB(46), 0), ElementsAre(25, 23, 22, 21));
  EXPECT_THAT(ChunkSizesFor(MiB(128) - MiB(2), 0), ElementsAre(25, 25, 25, 24, 23, 22, 21));
  EXPECT_THAT(ChunkSizesFor(MiB(128), 0), ElementsAre(26, 26));
  EXPECT_THAT(ChunkSizesFor(MiB(256), 0), ElementsAre(26, 26, 26, 26));
  EXPECT_THAT(ChunkSizesFor(MiB(300), 0), ElementsAre(26, 26, 26, 26, 25, 23, 22));
}

TEST(ChunkSizesFor, AForcedSizeHoldsForFullChunks) {
  EXPECT_THAT(ChunkSizesFor(MiB(70), 25), ElementsAre(25, 25, 22, 21));
  EXPECT_THAT(ChunkSizesFor(MiB(10), 26), ElementsAre(23, 21));
  EXPECT_EQ(ChunkSizesFor(MiB(512), 21), std::vector<int>(256, 21));
}

TEST(ChunkSizesFor, WastesLessThanAGranule) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 20'000; ++i) {
    const Bytes size(1 + random() % (uint64_t{1} << (10 + random() % 26)));
    const int forced = random() % 2 == 0 ? 0 : 21 + static_cast<int>(random() % 6);
    const std::vector<int> sizes = ChunkSizesFor(size, forced);
    ASSERT_TRUE(std::is_sorted(sizes.rbegin(), sizes.rend()));
    ASSERT_GE(sizes.back(), kMinChunkLog2);
    ASSERT_LE(sizes.front(), forced != 0 ? forced : kMaxChunkLog2);
    Bytes total;
    for (const int log2 : sizes) total += ChunkBytes(log2);
    ASSERT_GE(total, size);
    ASSERT_LT(total - size, kGranularity);
  }
}

TEST(Allocations, KnowsThemByIdAndBase) {
  Allocations all;
  const uint32_t id = all.Add(At(kBase, MiB(5)));
  ASSERT_NE(id, 0u);
  ASSERT_NE(all.Find(id), nullptr);
  EXPECT_EQ(all.Find(id)->base, kBase);
  EXPECT_EQ(all.Find(id)->id, id);
  EXPECT_EQ(all.FindBase(kBase), all.Find(id));
  EXPECT_EQ(all.FindBase(kBase + MiB(2)), nullptr);
  EXPECT_EQ(all.Find(0), nullptr);
  EXPECT_EQ(all.Find(id + 1), nullptr);
  EXPECT_EQ(all.Remove(kBase, id).value().requested, MiB(5));
  EXPECT_EQ(all.Find(id), nullptr);
  EXPECT_EQ(all.size(), 0u);
}

TEST(Allocations, NamesInteriorPointers) {
  Allocations all;
  const uint32_t id = all.Add(At(kBase, MiB(5)));
  const Status status = all.Remove(kBase + KiB(4), id).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("0x7f0000001000"), HasSubstr("4096 bytes into"),
                    HasSubstr("0x7f0000000000"), HasSubstr("5242880")));
  EXPECT_EQ(all.size(), 1u);
}

TEST(Allocations, TellsDoubleFreesFromForeignPointers) {
  Allocations all;
  all.Add(At(kBase, MiB(2)));
  ASSERT_TRUE(all.Remove(kBase, 0).ok());
  const Status again = all.Remove(kBase, 0).status();
  EXPECT_EQ(again.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(again.message()),
              AllOf(HasSubstr("0x7f0000000000"), HasSubstr("freed before")));
  const Status foreign = all.Remove(kBase + MiB(2), 0).status();
  EXPECT_EQ(foreign.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(
      std::string(foreign.message()),
      AllOf(HasSubstr("0x7f0000200000"), HasSubstr("never given out"), Not(HasSubstr("before"))));
  // What is allocated again can be freed again.
  all.Add(At(kBase, MiB(2)));
  EXPECT_TRUE(all.Remove(kBase, 0).ok());
}

TEST(AllocationsDeathTest, StopsTwoAtOneBase) {
  Allocations all;
  all.Add(At(kBase, MiB(2)));
  EXPECT_DEATH(all.Add(At(kBase, MiB(4))), "broken invariant");
}

TEST(Allocations, AgreesWithAModel) {
  std::mt19937_64 random(99);
  Allocations all;
  std::map<uint64_t, uint32_t> model;
  for (int i = 0; i < 50'000; ++i) {
    const DevicePtr base = kBase + kGranularity * (random() % 512);
    const auto it = model.find(base.value);
    if (it == model.end()) {
      if (random() % 2 == 0) {
        ASSERT_FALSE(all.Remove(base, 0).ok());
      } else {
        const uint32_t id = all.Add(At(base, Bytes(1 + random() % 1000)));
        for (const auto& [other, other_id] : model) ASSERT_NE(other_id, id);
        model[base.value] = id;
      }
    } else {
      ASSERT_EQ(all.Find(it->second)->base, base);
      ASSERT_EQ(all.Remove(base, it->second).value().id, it->second);
      model.erase(it);
    }
    ASSERT_EQ(all.size(), model.size());
  }
}

TEST(Allocations, AMillionStayWithin128BytesEach) {
  constexpr uint64_t kMany = 1'000'000;
  Allocations all;
  size_t worst = 0;
  for (uint64_t i = 0; i < kMany; ++i) {
    all.Add(At(kBase + kGranularity * i, MiB(2)));
    // A table that has just doubled is the worst case; with few of them, nobody minds.
    if (i >= 1000) worst = std::max(worst, all.metadata_bytes() / (i + 1));
  }
  EXPECT_LE(worst, 128u);
  for (uint64_t i = 0; i < kMany; ++i) ASSERT_TRUE(all.Remove(kBase + kGranularity * i, 0).ok());
  EXPECT_EQ(all.size(), 0u);
}

}  // namespace
}  // namespace vramspan
