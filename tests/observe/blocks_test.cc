// What allocators of the program hand out.
#include "runtime/observe/blocks.h"

#include <gmock/gmock.h>

#include <memory>
#include <thread>
#include <vector>

#include "runtime/observe/captures.h"

namespace vramspan {
namespace {

using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

constexpr uint64_t kMi = uint64_t{1} << 20;
constexpr uint64_t kSegment = 0x7000'0000'0000;

class BlocksTest : public testing::Test {
 protected:
  static DevicePtr At(uint64_t mi) { return DevicePtr(kSegment + mi * kMi); }
  void HandOut(uint64_t mi, uint64_t size_mi, bool captured = false) {
    blocks_.HandedOut(At(mi), MiB(size_mi), captured);
  }
  void TakeBack(uint64_t mi, uint64_t size_mi, bool captured = false) {
    blocks_.CameBack(At(mi), MiB(size_mi), captured, watch_);
  }
  Blocks::Block Find(DevicePtr p, Blocks::By by = Blocks::By::kWork) {
    return blocks_.Find(At(0), p, by);
  }
  bool IsNobodys(uint64_t mi, uint64_t size_mi) {
    return blocks_.IsNobodys(At(0), At(mi), MiB(size_mi));
  }
  // After some work; offsets and sizes in MiB.
  std::vector<std::pair<uint64_t, uint64_t>> Unused() {
    Blocks::NoteSubmission();
    std::vector<std::pair<uint64_t, uint64_t>> told;
    blocks_.TellUnused(watch_, [&](DevicePtr p, Bytes size) {
      told.push_back({(p.value - kSegment) / kMi, size.value / kMi});
    });
    return told;
  }

  Blocks blocks_;
  Blocks::Watch watch_ = 1;
};

// The allocator made the segment itself, so an address that no block has is nobody's.
TEST_F(BlocksTest, WhatOnlyTheAllocatorGivesOutIsNobodyElses) {
  blocks_.OnlyReported(At(0));
  HandOut(0, 8);
  EXPECT_NE(Find(At(2)).key, 0u) << "the same launch may come when it is not handed out";
  TakeBack(0, 8);
  const auto look = [this] {
    const Blocks::Block found = Find(At(2));
    EXPECT_FALSE(found.other);
    EXPECT_TRUE(found.none);
    EXPECT_EQ(found.size, Bytes(0));
    return found.past;
  };
  EXPECT_FALSE(look()) << "a launch may follow that was told its address before";
  EXPECT_THAT(Unused(), ElementsAre(Pair(0, 8)));
  EXPECT_TRUE(IsNobodys(0, 8)) << "from the first time on";
  EXPECT_TRUE(look());
  HandOut(0, 4);
  EXPECT_EQ(Find(At(2)).size, MiB(4));
  EXPECT_TRUE(Find(At(6)).past) << "the rest of it";
  // Its place may be another's some day.
  TakeBack(0, 4);
  EXPECT_THAT(Unused(), ElementsAre(Pair(0, 8)));
  EXPECT_TRUE(IsNobodys(0, 8));
  blocks_.Gone(At(0), MiB(8), /*unmapped=*/false);
  EXPECT_FALSE(Find(At(2)).none);
  EXPECT_FALSE(IsNobodys(0, 8));
}

TEST_F(BlocksTest, WhatOnlyTheAllocatorGaveOutIsForgottenBeforeAnyBlock) {
  blocks_.OnlyReported(At(0));
  blocks_.Gone(At(0), MiB(8), /*unmapped=*/false);
  HandOut(0, 8);
  TakeBack(0, 8);
  (void)Unused();
  EXPECT_FALSE(IsNobodys(0, 8));
}

TEST_F(BlocksTest, WhatCameBackIsUnusedOnceWorkFollows) {
  HandOut(0, 8);
  TakeBack(0, 8);
  blocks_.TellUnused(watch_, [](DevicePtr, Bytes) { FAIL() << "nothing came behind it"; });
  std::thread([this] {
    Blocks::NoteSubmission();
    blocks_.TellUnused(watch_, [](DevicePtr, Bytes) { FAIL() << "it came from another thread"; });
  }).join();
  EXPECT_THAT(Unused(), ElementsAre(Pair(0, 8)));
  EXPECT_THAT(Unused(), IsEmpty()) << "it was told";
}

TEST_F(BlocksTest, WhatIsHandedOutAgainIsInUse) {
  HandOut(0, 8);
  TakeBack(0, 8);
  HandOut(2, 2);
  EXPECT_THAT(Unused(), ElementsAre(Pair(0, 2), Pair(4, 4)));
}

TEST_F(BlocksTest, GranulesAreUnusedAsWhole) {
  HandOut(0, 3);
  HandOut(3, 3);
  TakeBack(0, 3);
  EXPECT_THAT(Unused(), ElementsAre(Pair(0, 2))) << "the next begins within the second granule";
  TakeBack(3, 3);
  EXPECT_THAT(Unused(), ElementsAre(Pair(0, 6))) << "with what was unused beside it";
}

TEST_F(BlocksTest, WhatWasNeverHandedOutIsNotKnown) {
  HandOut(4, 2);
  TakeBack(4, 2);
  EXPECT_THAT(Unused(), ElementsAre(Pair(4, 2)));
}

TEST_F(BlocksTest, GraphsKeepWhatWasHandedOutWhileTheyWereCaptured) {
  HandOut(0, 4);
  TakeBack(0, 4);
  HandOut(0, 2, /*captured=*/true);
  EXPECT_EQ(Find(At(1)).size, Bytes(0));
  TakeBack(0, 2);
  EXPECT_THAT(Unused(), ElementsAre(Pair(2, 2)));
  HandOut(0, 2);
  TakeBack(0, 2);
  EXPECT_THAT(Unused(), IsEmpty());
  EXPECT_EQ(Find(At(0)).size, Bytes(0)) << "a graph may reach farther";
  blocks_.Gone(At(0), MiB(2), /*unmapped=*/false);
  HandOut(0, 2);
  TakeBack(0, 2);
  EXPECT_THAT(Unused(), ElementsAre(Pair(0, 4))) << "other memory lies there now";
}

TEST_F(BlocksTest, GraphsKeepWhatWasInUseWhenTheirCaptureBegan) {
  HandOut(0, 4);
  HandOut(4, 4);
  TakeBack(4, 4);
  CaptureBegins();
  TakeBack(0, 4, /*captured=*/true);
  CaptureEnded();
  EXPECT_THAT(Unused(), ElementsAre(Pair(4, 4)));
  HandOut(8, 2);
  CaptureBegins();
  CaptureEnded();
  TakeBack(8, 2);
  EXPECT_THAT(Unused(), IsEmpty()) << "it came back behind the capture";
  HandOut(10, 2);
  TakeBack(10, 2);
  EXPECT_THAT(Unused(), ElementsAre(Pair(10, 2)));
}

// The rest of a granule may be another's, who tells nobody.
TEST_F(BlocksTest, WhatBlocksHadAPartOfIsNotUnused) {
  HandOut(1, 4);
  TakeBack(1, 4);
  EXPECT_THAT(Unused(), ElementsAre(Pair(2, 2)));
  HandOut(0, 1);
  TakeBack(0, 1);
  EXPECT_THAT(Unused(), ElementsAre(Pair(0, 4))) << "by now they had all of it";
}

TEST_F(BlocksTest, WhatCameBackBeforeAnybodyListenedIsNotUnused) {
  HandOut(0, 2);
  HandOut(2, 2);
  blocks_.CameBack(At(0), MiB(2), /*captured=*/false, /*watch=*/0);
  Blocks::NoteSubmission();
  TakeBack(2, 2);
  EXPECT_THAT(Unused(), ElementsAre(Pair(2, 2))) << "others may have had the rest meanwhile";
}

TEST_F(BlocksTest, WhatCameBackDuringAnotherWatchIsNotUnused) {
  HandOut(0, 2);
  HandOut(2, 2);
  TakeBack(0, 2);
  ++watch_;
  EXPECT_THAT(Unused(), IsEmpty()) << "nobody knows what came in between";
  TakeBack(2, 2);
  EXPECT_THAT(Unused(), ElementsAre(Pair(2, 2)));
}

// Others had a part of what blocks once had all of.
TEST_F(BlocksTest, OfWhatOthersHadBlocksHaveToHaveAllAgain) {
  HandOut(0, 4);
  TakeBack(0, 4);
  EXPECT_THAT(Unused(), ElementsAre(Pair(0, 4)));
  blocks_.OthersHave(At(0), [] {});
  HandOut(1, 3);
  TakeBack(1, 3);
  EXPECT_THAT(Unused(), ElementsAre(Pair(2, 2)));
}

// What was handed out before they came says nothing of their part.
TEST_F(BlocksTest, OfWhatOthersHaveBesideABlockNothingIsUnusedWhenThatComesBack) {
  HandOut(0, 4);
  TakeBack(0, 4);
  EXPECT_THAT(Unused(), ElementsAre(Pair(0, 4)));
  HandOut(0, 3);
  blocks_.OthersHave(At(0), [] {});
  TakeBack(0, 3);
  EXPECT_THAT(Unused(), ElementsAre(Pair(0, 2)));
  HandOut(0, 3);
  HandOut(3, 1);
  TakeBack(0, 3);
  TakeBack(3, 1);
  EXPECT_THAT(Unused(), Contains(Pair(0, 4))) << "they have had all of it again";
}

TEST_F(BlocksTest, OfWhatOthersHadBeforeItIsWatchedBlocksHaveToHaveAllAgain) {
  HandOut(0, 4);
  TakeBack(0, 4);
  EXPECT_THAT(Unused(), ElementsAre(Pair(0, 4)));
  EXPECT_FALSE(IsNobodys(0, 4)) << "nobody was watched";
  HandOut(0, 3);
  TakeBack(0, 3);
  EXPECT_THAT(Unused(), ElementsAre(Pair(0, 2)));
}

TEST_F(BlocksTest, OfWhatOthersMayHaveHadUnseenBlocksHaveToHaveAllAgain) {
  HandOut(0, 4);
  TakeBack(0, 4);
  HandOut(0, 3);
  ++watch_;
  TakeBack(0, 3);
  EXPECT_THAT(Unused(), ElementsAre(Pair(0, 2)));
}

TEST_F(BlocksTest, WhatOthersNameIsNotNobodys) {
  HandOut(0, 8);
  TakeBack(0, 8);
  const uint64_t watched = blocks_.watched();
  EXPECT_FALSE(IsNobodys(0, 8)) << "nobody was watched";
  EXPECT_EQ(blocks_.watched(), watched + 1);
  EXPECT_FALSE(IsNobodys(0, 8)) << "it came back before that";
  HandOut(0, 8);
  EXPECT_FALSE(Find(At(1)).other);
  TakeBack(0, 8);
  EXPECT_FALSE(Find(At(1), Blocks::By::kNobody).other);
  EXPECT_TRUE(IsNobodys(0, 8));
  EXPECT_TRUE(Find(At(12)).other);
  HandOut(20, 2, /*captured=*/true);
  TakeBack(20, 2);
  EXPECT_FALSE(Find(At(20), Blocks::By::kGraph).other);
  EXPECT_TRUE(Find(At(20)).other) << "its graph may be gone";
  bool owned = false;
  blocks_.OthersHave(At(0), [&] { owned = true; });
  EXPECT_TRUE(owned);
  EXPECT_FALSE(IsNobodys(0, 8)) << "who named that may reach the rest of the allocation";
  HandOut(2, 2);
  TakeBack(2, 2);
  EXPECT_TRUE(IsNobodys(2, 2));
  EXPECT_FALSE(IsNobodys(0, 4));
  blocks_.Gone(At(0), MiB(16), /*unmapped=*/false);
  EXPECT_FALSE(Find(At(1)).other);
}

TEST_F(BlocksTest, WhatAnybodyMayHaveIsNotNobodys) {
  int owned = 0;
  const auto unknown = [&] { blocks_.OthersMayHaveAny([&] { ++owned; }); };
  HandOut(0, 4);
  TakeBack(0, 4);
  unknown();
  EXPECT_EQ(owned, 0) << "nothing was told";
  EXPECT_THAT(Unused(), ElementsAre(Pair(0, 4)));
  EXPECT_FALSE(IsNobodys(0, 4)) << "nobody was watched";
  HandOut(0, 4);
  TakeBack(0, 4);
  EXPECT_TRUE(IsNobodys(0, 4));
  unknown();
  EXPECT_FALSE(IsNobodys(0, 4));
  unknown();
  EXPECT_EQ(owned, 1);
  HandOut(0, 3);
  TakeBack(0, 3);
  EXPECT_TRUE(IsNobodys(0, 2));
  EXPECT_THAT(Unused(), Each(Pair(0, 2))) << "the rest may be another's";
}

// Whose launch is the same as one before, the block that it named says.
TEST_F(BlocksTest, AreInUseAsTheyWereFound) {
  const auto key = [this](uint64_t mi) { return Find(At(mi)).key; };
  const auto in_use = [this](uint64_t found) { return blocks_.InUse({&found, 1}); };
  HandOut(0, 4);
  EXPECT_EQ(key(1), 0u) << "nobody looks who else names the allocation";
  EXPECT_FALSE(IsNobodys(0, 4)) << "now it is watched";
  const uint64_t first = key(1);
  EXPECT_NE(first, 0u);
  EXPECT_TRUE(in_use(first));
  TakeBack(0, 4);
  EXPECT_FALSE(in_use(first));
  HandOut(0, 2);
  EXPECT_FALSE(in_use(first)) << "it is another";
  EXPECT_TRUE(in_use(key(0)));
  TakeBack(0, 2);
  HandOut(0, 4);
  EXPECT_TRUE(in_use(first));
  HandOut(2, 4);
  EXPECT_FALSE(in_use(first)) << "nobody said that it came back";
  const uint64_t second = key(3);
  blocks_.Gone(At(4), MiB(2), /*unmapped=*/true);
  EXPECT_FALSE(in_use(second));
  HandOut(8, 2, /*captured=*/true);
  const uint64_t kept = key(8);
  EXPECT_TRUE(in_use(kept));
  TakeBack(8, 2);
  EXPECT_FALSE(in_use(kept));
}

TEST(BlocksInUseTest, WhatFindsNoPlaceIsNotInUse) {
  const auto blocks = std::make_unique<BlocksInUse>();
  constexpr uint64_t kMany = 1 << 17;
  const auto key = [](uint64_t i) { return BlocksInUse::KeyOf(DevicePtr(i * kMi), MiB(1)); };
  uint64_t found = 0;
  for (uint64_t i = 0; i < kMany; ++i) blocks->Add(key(i));
  for (uint64_t i = 0; i < kMany; ++i) found += blocks->Has(key(i));
  EXPECT_GT(found, kMany / 8);
  EXPECT_LT(found, kMany / 2);
  for (uint64_t i = 0; i < kMany; ++i) blocks->Remove(key(i));
  for (uint64_t i = 0; i < kMany; ++i) EXPECT_FALSE(blocks->Has(key(i)));
}

TEST_F(BlocksTest, WhatGraphsKeepStaysSoWhereItIsUnmapped) {
  HandOut(0, 4, /*captured=*/true);
  TakeBack(0, 4);
  blocks_.Gone(At(0), MiB(4), /*unmapped=*/true);
  HandOut(0, 4);
  TakeBack(0, 4);
  EXPECT_THAT(Unused(), IsEmpty()) << "the graph's results come there again";
}

// One granule that is kept leaves the others as they are.
TEST_F(BlocksTest, WhatLiesBesideWhatGraphsKeepIsToldAsBefore) {
  HandOut(0, 2, /*captured=*/true);
  TakeBack(0, 2);
  for (int round = 0; round < 3; ++round) {
    HandOut(0, 8);
    TakeBack(0, 8);
    EXPECT_THAT(Unused(), ElementsAre(Pair(2, round == 0 ? 6 : 10)));
    HandOut(4, 8);
    TakeBack(4, 8);
    EXPECT_THAT(Unused(), ElementsAre(Pair(2, 10)));
  }
}

TEST_F(BlocksTest, WhatAnotherThreadGaveBackIsItsToTell) {
  HandOut(0, 2);
  HandOut(2, 2);
  std::thread([this] { TakeBack(0, 2); }).join();
  TakeBack(2, 2);
  EXPECT_THAT(Unused(), ElementsAre(Pair(2, 2)));
}

TEST_F(BlocksTest, WhatCameBackBehindTheLastWorkIsNotTold) {
  HandOut(0, 2);
  HandOut(2, 2);
  TakeBack(0, 2);
  Blocks::NoteSubmission();
  TakeBack(2, 2);
  std::vector<uint64_t> told;
  blocks_.TellUnused(watch_, [&](DevicePtr p, Bytes) { told.push_back(p.value); });
  EXPECT_THAT(told, IsEmpty());
}

TEST_F(BlocksTest, WhatIsUnmappedWhileItIsInUseStaysSo) {
  HandOut(0, 3);
  HandOut(4, 2);
  TakeBack(4, 2);
  blocks_.Gone(At(0), MiB(8), /*unmapped=*/true);
  HandOut(3, 1);
  TakeBack(3, 1);
  EXPECT_THAT(Unused(), IsEmpty()) << "the first one's contents come there again";
  HandOut(4, 2);
  TakeBack(4, 2);
  EXPECT_THAT(Unused(), ElementsAre(Pair(4, 2)));
}

TEST_F(BlocksTest, NoMoreIsRememberedThanIsOfUse) {
  for (int i = 0; i < 100'000; ++i) {
    HandOut(0, 2);
    TakeBack(0, 2);
  }
  EXPECT_LE(Unused().size(), 5000u);
}

TEST_F(BlocksTest, OfWhatMakesNoSenseNothingIsUnused) {
  TakeBack(0, 4);
  EXPECT_THAT(Unused(), IsEmpty());
  HandOut(0, 2);
  TakeBack(0, 4);
  HandOut(8, 4);
  TakeBack(10, 2);
  EXPECT_THAT(Unused(), IsEmpty());
  TakeBack(8, 4);
  EXPECT_THAT(Unused(), ElementsAre(Pair(8, 2)));
  blocks_.HandedOut(DevicePtr(~uint64_t{0}), MiB(2), false);
  blocks_.HandedOut(At(0), Bytes(~uint64_t{0}), false);
  blocks_.CameBack(At(0), Bytes(0), false, watch_);
  EXPECT_EQ(Find(DevicePtr(~uint64_t{0})).size, Bytes(0));
}

// Nor does it take all memory, and the time to look at it.
TEST_F(BlocksTest, OnceABlockOfNoSenseIsHandedOutNothingIsUnused) {
  HandOut(0, 2);
  TakeBack(0, 2);
  for (const int log2 : {41, 48, 55, 62}) {
    blocks_.HandedOut(At(0), Bytes(uint64_t{1} << log2), false);
    blocks_.CameBack(At(0), Bytes(uint64_t{1} << log2), false, watch_);
  }
  EXPECT_THAT(Unused(), IsEmpty());
}

TEST_F(BlocksTest, AreFoundByAnyAddressUntilTheyComeBack) {
  HandOut(2, 3);
  EXPECT_EQ(Find(At(2)).base, At(2));
  EXPECT_EQ(Find(At(4)).size, MiB(3));
  EXPECT_EQ(Find(At(5)).size, Bytes(0));
  EXPECT_EQ(Find(At(1)).size, Bytes(0));
  HandOut(4, 4);
  EXPECT_EQ(Find(At(4)).base, At(4)) << "nobody said that the other came back";
  TakeBack(4, 4);
  EXPECT_EQ(Find(At(4)).size, Bytes(0));
}

TEST_F(BlocksTest, GoneMemoryIsForgotten) {
  HandOut(0, 4);
  HandOut(4, 4);
  TakeBack(4, 4);
  blocks_.Gone(At(0), MiB(8), /*unmapped=*/false);
  EXPECT_EQ(Find(At(0)).size, Bytes(0));
  EXPECT_THAT(Unused(), IsEmpty());
}

// Threads hand out, look up and tell; what is told is handed out by nobody meanwhile.
TEST_F(BlocksTest, ThreadsAgree) {
  std::atomic<bool> in_use[4] = {};
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 2000; ++i) {
        blocks_.HandedOut(At(64 * t), MiB(4), false);
        in_use[t] = true;
        Find(At(64 * ((t + 1) % 4)));
        IsNobodys(64 * t, 4);
        if (i % 16 == 0) blocks_.OthersHave(At(0), [] {});
        if (i % 64 == 0) blocks_.Gone(At(256), MiB(2), /*unmapped=*/i % 128 == 0);
        in_use[t] = false;
        blocks_.CameBack(At(64 * t), MiB(4), false, watch_);
        Blocks::NoteSubmission();
        blocks_.TellUnused(watch_, [&](DevicePtr p, Bytes) {
          EXPECT_FALSE(in_use[(p.value - kSegment) / (64 * kMi)]);
        });
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace vramspan
