// Likely and possible ranges from pointers, over made-up allocations.
#include "runtime/observe/working_sets.h"

#include <gmock/gmock.h>

#include <array>

namespace vramspan {
namespace {

constexpr uint64_t kSlab = 0x7000'0000'0000;
constexpr Bytes kSlabSize = MiB(64);
constexpr uint64_t kOther = 0x7000'1000'0000;

Extent Find(const Touch& touch) {
  const DevicePtr p = touch.ptr;
  for (const uint64_t base : {kSlab, kOther}) {
    if (p.value >= base && p.value < base + kSlabSize.value) return {DevicePtr(base), kSlabSize};
  }
  return {};
}

class WorkingSetsTest : public testing::Test {
 protected:
  std::vector<InferredRange> Launch(std::initializer_list<uint64_t> pointers, bool possible = false,
                                    uint64_t numbers = 0, const void* code = nullptr) {
    Submission s;
    s.kind = Submission::Kind::kKernel;
    s.code = code;
    s.numbers = numbers;
    for (const uint64_t p : pointers) s.touches.push_back({.ptr = DevicePtr(p)});
    std::vector<InferredRange> out;
    const auto find = [this](const Touch& touch) {
      Extent extent = Find(touch);
      if (touch.ptr - block_.base < block_.size) {
        extent.block = block_.base;
        extent.block_size = block_.size;
      }
      extent.past = touch.ptr == past_;
      return extent;
    };
    sets_with_->Infer(s, possible, find, &out);
    return out;
  }

  // Whether the end of what the launch names first has proved itself to it.
  static bool Settled(const std::vector<InferredRange>& ranges) {
    return ranges.size() > 1 && ranges[1].settled;
  }

  Extent block_;    // That the program's allocator told.
  DevicePtr past_;  // Where it has one back.
  WorkingSets sets_{Bytes(0)};
  WorkingSets* sets_with_ = &sets_;
};

TEST_F(WorkingSetsTest, LonePointerNamesTheRestOfItsAllocation) {
  const auto r = Launch({kSlab + MiB(4).value});
  ASSERT_EQ(r.size(), 1u);
  EXPECT_EQ(r[0].ptr, DevicePtr(kSlab + MiB(4).value));
  EXPECT_EQ(r[0].size, MiB(60));
  EXPECT_TRUE(r[0].likely);
  EXPECT_FALSE(r[0].exact);
}

TEST_F(WorkingSetsTest, NextPointerSeenEndsTheLikelyRange) {
  Launch({kSlab + MiB(8).value});
  auto r = Launch({kSlab});
  ASSERT_EQ(r.size(), 1u);
  EXPECT_EQ(r[0].size, MiB(8));
  // Of the same launch as well, whatever their order.
  r = Launch({kSlab, kSlab + MiB(2).value});
  ASSERT_EQ(r.size(), 2u);
  EXPECT_EQ(r[0].size, MiB(2));
  EXPECT_EQ(r[1].size, MiB(6));
}

TEST_F(WorkingSetsTest, ToldBlocksSayHowFarTheirPointersGo) {
  block_ = {DevicePtr(kSlab + MiB(4).value), MiB(8)};
  // Neither what was named before nor the allocation's end counts.
  Launch({kSlab + MiB(6).value});
  auto r = Launch({kSlab + MiB(4).value}, /*possible=*/true);
  ASSERT_EQ(r.size(), 2u);
  EXPECT_EQ(r[0].size, MiB(8));
  EXPECT_EQ(r[1].ptr, DevicePtr(kSlab));
  EXPECT_EQ(r[1].size, kSlabSize) << "it may go farther all the same";
  EXPECT_FALSE(r[1].settled) << "who comes again goes by it, and it may be another's";
  // From within it goes no farther.
  r = Launch({kSlab + MiB(10).value});
  EXPECT_EQ(r[0].size, MiB(2));
  Launch({kSlab + MiB(11).value});
  r = Launch({kSlab + MiB(10).value});
  EXPECT_EQ(r[0].size, MiB(1)) << "nor than what is named behind it";
  // What lies outside is as without.
  r = Launch({kSlab + MiB(32).value});
  EXPECT_EQ(r[0].size, MiB(32));
  block_ = {};
  r = Launch({kSlab + MiB(4).value});
  EXPECT_EQ(r[0].size, MiB(2));
}

// Flat parameters: a block of many arrays, the first of which begins where it does.
TEST_F(WorkingSetsTest, ABlockOfManyArraysEndsWhereTheSameCodeIsGivenTheNext) {
  const int code = 0, other = 0;
  block_ = {DevicePtr(kSlab + MiB(4).value), MiB(12)};
  const auto first = [&](const void* by) {
    return Launch({kSlab + MiB(4).value}, /*possible=*/true, 0, by)[0].size;
  };
  const auto second = [&] { Launch({kSlab + MiB(8).value}, /*possible=*/true, 0, &code); };
  for (uint32_t i = 0; i < WorkingSets::kSettled; ++i) {
    EXPECT_EQ(first(&code), MiB(12)) << "after " << i;
    second();
  }
  EXPECT_EQ(first(&code), MiB(4));
  EXPECT_EQ(first(&other), MiB(12)) << "it may take all of them";
  // Another block there is another thing.
  block_.size = MiB(10);
  EXPECT_EQ(first(&code), MiB(10));
  second();
  EXPECT_EQ(first(&code), MiB(10));
}

// Rows of a matrix begin near each other.
TEST_F(WorkingSetsTest, ViewsThatBeginNearABlocksStartEndNothing) {
  block_ = {DevicePtr(kSlab), MiB(12)};
  for (uint32_t i = 0; i < 2 * WorkingSets::kSettled; ++i) Launch({kSlab, kSlab + 4096});
  EXPECT_EQ(Launch({kSlab})[0].size, MiB(12));
}

TEST_F(WorkingSetsTest, WhatMayBeTouchedByABlockIsToldSo) {
  EXPECT_FALSE(Launch({kSlab + MiB(4).value}, /*possible=*/true)[1].told);
  block_ = {DevicePtr(kSlab + MiB(4).value), MiB(12)};
  const auto r = Launch({kSlab + MiB(4).value}, /*possible=*/true);
  EXPECT_FALSE(r[0].told);
  EXPECT_TRUE(r[1].told);
}

// A stray word, or the end of what lies before it: that may be touched, but for what is nobody's.
TEST_F(WorkingSetsTest, WhereABlockWasIsNotLikely) {
  past_ = DevicePtr(kSlab + MiB(4).value);
  EXPECT_THAT(Launch({past_.value}), ::testing::IsEmpty());
  const auto r = Launch({past_.value, kSlab + MiB(2).value}, /*possible=*/true);
  ASSERT_EQ(r.size(), 4u);
  EXPECT_EQ(r[0].ptr, past_);
  EXPECT_EQ(r[0].size, Bytes(1));
  EXPECT_FALSE(r[0].likely);
  EXPECT_FALSE(r[0].told) << "it stays mapped";
  EXPECT_EQ(r[1].ptr, DevicePtr(kSlab));
  EXPECT_EQ(r[1].size, kSlabSize);
  EXPECT_FALSE(r[1].likely);
  EXPECT_TRUE(r[1].told);
  EXPECT_TRUE(r[2].likely);
  EXPECT_EQ(r[2].size, kSlabSize - MiB(2)) << "a stray word ends no array";
}

TEST_F(WorkingSetsTest, OtherAllocationsPointersEndNothing) {
  Launch({kOther});
  const auto r = Launch({kSlab});
  ASSERT_EQ(r.size(), 1u);
  EXPECT_EQ(r[0].size, kSlabSize);
}

TEST_F(WorkingSetsTest, PointersWithinAnArrayEndNothing) {
  Launch({kSlab + 128});
  const auto r = Launch({kSlab});
  ASSERT_EQ(r.size(), 1u);
  EXPECT_EQ(r[0].size, kSlabSize);
}

TEST_F(WorkingSetsTest, PointersWithinAnArrayThatAreSeenBeforeItEndNothing) {
  Launch({kSlab + MiB(8).value + 8, kSlab + MiB(8).value});
  EXPECT_EQ(Launch({kSlab + MiB(8).value})[0].size, MiB(56));
}

TEST_F(WorkingSetsTest, PointersFarApartEndWhateverTheirAlignment) {
  Launch({kSlab + MiB(2).value + 16});
  EXPECT_EQ(Launch({kSlab})[0].size, MiB(2) + Bytes(16));
}

TEST_F(WorkingSetsTest, PossibleRangeIsTheWholeAllocation) {
  Launch({kSlab + MiB(8).value});
  const auto r = Launch({kSlab}, /*possible=*/true);
  ASSERT_EQ(r.size(), 2u);
  EXPECT_FALSE(r[1].likely);
  EXPECT_EQ(r[1].ptr, DevicePtr(kSlab));
  EXPECT_EQ(r[1].size, kSlabSize);
  EXPECT_TRUE(r[1].write);
  // Where the likely one is all of it there is nothing to add.
  EXPECT_EQ(Launch({kOther}, true).size(), 1u);
}

TEST_F(WorkingSetsTest, BoundariesAge) {
  Launch({kSlab + MiB(8).value});
  for (uint64_t i = 0; i < WorkingSets::kAge; ++i) Launch({kSlab + MiB(32).value});
  EXPECT_EQ(Launch({kSlab})[0].size, MiB(32));
  // And hold again once they are named again.
  Launch({kSlab + MiB(8).value});
  EXPECT_EQ(Launch({kSlab})[0].size, MiB(8));
}

TEST_F(WorkingSetsTest, BoundariesGoThatAreNeverNamedBesideWhatTheyEnd) {
  Launch({kSlab, kSlab + MiB(8).value});
  for (uint32_t i = 1; i < WorkingSets::kAlone; ++i) EXPECT_EQ(Launch({kSlab})[0].size, MiB(8));
  EXPECT_EQ(Launch({kSlab})[0].size, kSlabSize);
}

TEST_F(WorkingSetsTest, BoundariesStayThatAreNamedNowAndThen) {
  Launch({kSlab, kSlab + MiB(8).value});
  for (uint32_t i = 0; i < 4 * WorkingSets::kAlone; ++i) {
    if (i % (WorkingSets::kAlone / 2) == 0) Launch({kSlab + MiB(8).value});
    ASSERT_EQ(Launch({kSlab})[0].size, MiB(8)) << i;
  }
}

// An allocator that hands out an array, takes it back, and hands out two in its place, and then
// the first again: what ended it then is old.
TEST_F(WorkingSetsTest, SmallPoolsAreOneArray) {
  WorkingSets whole(kSlabSize);
  sets_with_ = &whole;
  for (uint32_t i = 0; i < WorkingSets::kSettled; ++i)
    EXPECT_EQ(Launch({kSlab})[0].size, kSlabSize);
  EXPECT_EQ(Launch({kSlab + MiB(8).value})[0].size, MiB(56));
  EXPECT_EQ(Launch({kSlab})[0].size, kSlabSize);
  // Where it is no pool: found one after the other, as in a loop over layers.
  Launch({kOther});
  Launch({kOther + MiB(8).value});
  for (int i = 0; i < 5; ++i) EXPECT_EQ(Launch({kOther})[0].size, MiB(8));
}

TEST_F(WorkingSetsTest, PointersWithinAnArrayMakeNoPool) {
  WorkingSets whole(kSlabSize);
  sets_with_ = &whole;
  Launch({kSlab});
  for (uint32_t i = 0; i < 2 * WorkingSets::kSettled; ++i) Launch({kSlab, kSlab + MiB(8).value});
  Launch({kSlab + 128});
  EXPECT_EQ(Launch({kSlab})[0].size, MiB(8));
}

TEST_F(WorkingSetsTest, LargePoolsKeepTheirBoundariesButTrustNone) {
  for (uint32_t i = 0; i < WorkingSets::kSettled; ++i) Launch({kSlab});
  for (int i = 0; i < 5; ++i) {
    Launch({kSlab + MiB(8).value});
    const auto r = Launch({kSlab}, /*possible=*/true);
    ASSERT_EQ(r.size(), 2u);
    EXPECT_EQ(r[0].size, MiB(8));
    EXPECT_FALSE(r[1].settled);
  }
}

TEST_F(WorkingSetsTest, BoundariesProveThemselves) {
  Launch({kSlab});
  Launch({kSlab + MiB(8).value});
  for (uint32_t i = 0; i <= WorkingSets::kRenewed; ++i) {
    const bool settled = Launch({kSlab}, /*possible=*/true)[1].settled;
    EXPECT_EQ(settled, i == WorkingSets::kRenewed) << i;
    Launch({kSlab + MiB(8).value});
  }
  EXPECT_TRUE(Launch({kSlab}, /*possible=*/true)[1].settled);
}

// An allocator that has joined two pieces again hands them out as one: its first user says a number
// that was not said before.
TEST_F(WorkingSetsTest, BoundariesProveThemselvesToLaunchesThatWereThere) {
  const auto settled = [&](uint64_t numbers) {
    const bool it_is = Settled(Launch({kSlab}, /*possible=*/true, numbers));
    Launch({kSlab + MiB(8).value});
    return it_is;
  };
  for (int i = 0; i < 10; ++i) settled(1);
  EXPECT_TRUE(settled(1));
  for (uint32_t i = 0; i <= WorkingSets::kRenewed; ++i) {
    EXPECT_EQ(settled(2), i == WorkingSets::kRenewed) << i;
  }
  EXPECT_TRUE(settled(1));
  // Named twice by one launch is named once.
  Launch({kSlab, kSlab}, /*possible=*/true, 3);
  EXPECT_FALSE(settled(3));
  // The end is another one: nobody knows it.
  Launch({kSlab + MiB(4).value});
  EXPECT_FALSE(Launch({kSlab}, /*possible=*/true, 1)[1].settled);
}

// A buffer that one code fills piece by piece, and of which another takes all.
TEST_F(WorkingSetsTest, BoundariesProveThemselvesToCodeThatNamesThem) {
  const int fill = 0;
  const int sum = 0;
  const auto settled = [&](const void* code) {
    return Settled(Launch({kSlab}, /*possible=*/true, 0, code));
  };
  const uint64_t piece = kSlab + MiB(8).value;
  for (int i = 0; i < 10; ++i) {
    settled(&fill);
    Launch({piece}, /*possible=*/false, 0, &fill);
    EXPECT_FALSE(settled(&sum)) << i;
  }
  EXPECT_TRUE(settled(&fill));
  // It takes the pieces one by one as well.
  Launch({piece}, /*possible=*/false, 0, &sum);
  EXPECT_TRUE(settled(&sum));
}

TEST_F(WorkingSetsTest, ManyCodesMayNameABoundaryAndTheFirstAreKnown) {
  const uint64_t piece = kSlab + MiB(8).value;
  std::array<char, WorkingSets::kNamers + 1> codes{};
  for (const char& code : codes) {
    bool settled = false;
    for (int i = 0; i < 3; ++i) {
      settled = Launch({kSlab, piece}, /*possible=*/true, 0, &code)[1].settled;
    }
    EXPECT_EQ(settled, &code != &codes.back()) << &code - codes.data();
  }
}

// A loop over the pieces of an array, each named with its number, and seldom the same one.
class WorkingSetsPieceTest : public WorkingSetsTest {
 protected:
  static constexpr uint64_t kPieces = 16;
  static constexpr uint64_t kPiece = kSlabSize.value / kPieces;
  // Whether the end of the piece has proved itself to the launch that names it now.
  bool PieceSettled(uint64_t piece, Via via = Via::kCall) {
    Submission s;
    s.kind = Submission::Kind::kKernel;
    s.words = {kPiece, piece};
    s.numbers = piece;
    s.touches.push_back({.ptr = DevicePtr(kSlab + piece * kPiece), .via = via});
    std::vector<InferredRange> out;
    sets_with_->Infer(s, /*possible=*/true, Find, &out);
    return out.size() == 2 && out[1].settled;
  }
};

TEST_F(WorkingSetsPieceTest, PiecesProveThemselvesToLaunchesOfOthers) {
  for (uint64_t i = 0; i < kPieces; ++i) EXPECT_FALSE(PieceSettled(i));
  for (uint32_t round = 0; round <= WorkingSets::kRenewed; ++round) {
    // The last one's end is not renewed: three prove theirs.
    for (uint64_t i = 0; i < ProvenLengths::kLaunches; ++i) PieceSettled(i);
  }
  EXPECT_TRUE(PieceSettled(0));
  EXPECT_FALSE(PieceSettled(9));
  for (int i = 0; i < 3; ++i) PieceSettled(3), PieceSettled(4);
  EXPECT_TRUE(PieceSettled(9));
  EXPECT_TRUE(PieceSettled(kPieces - 1)) << "it ends where the allocation does";
  EXPECT_FALSE(PieceSettled(kPieces - 1, Via::kTable)) << "found, and not said";
  EXPECT_FALSE(PieceSettled(10, Via::kTable));
  // Half a piece behind the next: the pieces are others.
  Launch({kSlab + 11 * kPiece + kPiece / 2});
  EXPECT_FALSE(PieceSettled(11));
  EXPECT_TRUE(PieceSettled(12));
}

// What fills an array goes over all of it, what reads it is at few of its pieces.
TEST_F(WorkingSetsPieceTest, PiecesOfAnotherLoopEndWhereProvenOnesWould) {
  const int fill = 0;
  for (uint64_t i = 0; i < kPieces; ++i) Launch({kSlab + i * kPiece}, /*possible=*/true, i, &fill);
  EXPECT_FALSE(PieceSettled(9));
  for (uint32_t round = 0; round <= WorkingSets::kRenewed + 1; ++round) {
    for (uint64_t i = 0; i <= ProvenLengths::kLaunches; ++i) PieceSettled(i);
  }
  EXPECT_TRUE(PieceSettled(9)) << "the piece behind it was given to another code alone";
}

TEST_F(WorkingSetsPieceTest, PiecesOfPoolsProveNothingToOthers) {
  for (uint64_t i = 0; i < 14; ++i) PieceSettled(i);
  for (int round = 0; round < 5; ++round) {
    for (uint64_t i = 0; i < 8; ++i) PieceSettled(i);
  }
  EXPECT_TRUE(PieceSettled(12));
  Launch({kSlab + MiB(1).value});  // Handed out anew.
  EXPECT_FALSE(PieceSettled(12));
  EXPECT_FALSE(PieceSettled(13));
}

TEST_F(WorkingSetsTest, AGraphWithOtherContentsIsAnother) {
  const auto settled = [&](uint64_t pointer) {
    Submission s;
    s.kind = Submission::Kind::kGraph;
    s.code = this;
    for (const uint64_t p : {kSlab, kSlab + MiB(8).value, pointer}) {
      s.touches.push_back({.ptr = DevicePtr(p)});
    }
    std::vector<InferredRange> out;
    sets_.Infer(s, /*possible=*/true, Find, &out);
    return out[1].settled;
  };
  for (int i = 0; i < 10; ++i) settled(kOther);
  EXPECT_TRUE(settled(kOther));
  EXPECT_FALSE(settled(kOther + 4096));
}

class WorkingSetsArrayTest : public WorkingSetsTest {
 protected:
  static constexpr uint64_t kArray = MiB(8).value;
  static constexpr uint64_t kArrays = kSlabSize.value / kArray;

  // All of the slab, but for some padding; and each array is named once.
  void UploadAndNameAll() {
    for (uint64_t i = 0; i < kArrays; ++i) Upload(i * kArray, kArray - 512);
    for (uint64_t i = 0; i < kArrays; ++i) Launch(i * kArray);
  }
  void Upload(uint64_t offset, uint64_t size) {
    sets_.Uploaded({DevicePtr(kSlab), kSlabSize}, DevicePtr(kSlab + offset), Bytes(size));
  }
  std::vector<InferredRange> Launch(uint64_t offset, Trust trust = Trust::kArrays) {
    Submission s;
    s.kind = Submission::Kind::kKernel;
    s.trust = trust;
    s.touches.push_back({.ptr = DevicePtr(kSlab + offset)});
    std::vector<InferredRange> out;
    sets_.Infer(s, /*possible=*/true, Find, &out);
    return out;
  }
  bool InArray(uint64_t offset) { return Launch(offset)[0].array; }
};

TEST_F(WorkingSetsArrayTest, APointerToAnArrayNamesItWhereTheCodeStaysThere) {
  UploadAndNameAll();
  const auto r = Launch(kArray);
  ASSERT_EQ(r.size(), 1u) << "nothing else is possible";
  EXPECT_EQ(r[0].size, Bytes(kArray)) << "with the padding up to the next";
  EXPECT_TRUE(r[0].array);
  EXPECT_FALSE(r[0].exact);
  EXPECT_TRUE(InArray(kSlabSize.value - kArray)) << "it ends where the allocation does";
}

TEST_F(WorkingSetsArrayTest, OfOtherCodeTheAllocationIsPossible) {
  UploadAndNameAll();
  const auto r = Launch(kArray, Trust::kProven);
  ASSERT_EQ(r.size(), 2u);
  EXPECT_FALSE(r[0].array);
  EXPECT_EQ(r[1].size, kSlabSize);
}

// A program that uploads an array piece by piece names its start alone.
TEST_F(WorkingSetsArrayTest, AnArrayEndsWhereLaunchesNameTheNext) {
  for (uint64_t i = 0; i < kArrays; ++i) Upload(i * kArray, kArray);
  for (const uint64_t i : {0, 4}) Launch(i * kArray);
  EXPECT_FALSE(InArray(0));
  EXPECT_FALSE(InArray(4 * kArray));
  Launch(kArray);
  EXPECT_TRUE(InArray(0));
}

TEST_F(WorkingSetsArrayTest, WhatIsNamedWithinIsNoArray) {
  UploadAndNameAll();
  EXPECT_TRUE(InArray(kArray));
  EXPECT_FALSE(InArray(kArray + 4096));
  EXPECT_FALSE(InArray(kArray)) << "nor what it lies in";
}

TEST_F(WorkingSetsArrayTest, AreAllOfAnAllocation) {
  for (uint64_t i = 0; i < 5; ++i) Upload(i * kArray, kArray);
  for (uint64_t i = 0; i < kArrays; ++i) Launch(i * kArray);
  EXPECT_FALSE(InArray(kArray)) << "five eighths are not enough";
  Upload(5 * kArray, kArray);
  EXPECT_TRUE(InArray(kArray));
}

TEST_F(WorkingSetsArrayTest, WhatIsUploadedAgainIsNone) {
  UploadAndNameAll();
  Upload(kArray, kArray - 512);
  EXPECT_FALSE(InArray(kArray));
  EXPECT_TRUE(InArray(2 * kArray));
}

TEST_F(WorkingSetsArrayTest, PoolsHaveNone) {
  UploadAndNameAll();
  for (uint32_t i = 0; i < WorkingSets::kSettled; ++i) EXPECT_TRUE(InArray(kArray));
  Launch(kArray + MiB(1).value);  // Handed out anew.
  EXPECT_FALSE(InArray(2 * kArray));
}

TEST_F(WorkingSetsArrayTest, AreForgottenWithTheirAllocation) {
  UploadAndNameAll();
  sets_.Forget(DevicePtr(kSlab));
  for (uint64_t i = 0; i < kArrays; ++i) Launch(i * kArray);
  EXPECT_FALSE(InArray(kArray));
}

TEST_F(WorkingSetsTest, BoundariesAreForgottenWithTheirAllocation) {
  Launch({kSlab + MiB(8).value});
  sets_.Forget(DevicePtr(kSlab));
  EXPECT_EQ(Launch({kSlab})[0].size, kSlabSize);
}

TEST_F(WorkingSetsTest, ForeignPointersNameNothing) { EXPECT_TRUE(Launch({0x1234'5600}).empty()); }

TEST_F(WorkingSetsTest, WhatEveryKernelCouldReachIsPossibleAtMost) {
  Submission s;
  s.kind = Submission::Kind::kKernel;
  s.touches.push_back({.ptr = DevicePtr(kSlab + MiB(8).value), .via = Via::kGlobal});
  std::vector<InferredRange> out;
  sets_.Infer(s, /*possible=*/false, Find, &out);
  EXPECT_TRUE(out.empty());
  sets_.Infer(s, /*possible=*/true, Find, &out);
  ASSERT_EQ(out.size(), 1u);
  EXPECT_FALSE(out[0].likely);
  EXPECT_EQ(out[0].ptr, DevicePtr(kSlab));
  EXPECT_EQ(out[0].size, kSlabSize);
  EXPECT_EQ(Launch({kSlab})[0].size, kSlabSize);
}

TEST_F(WorkingSetsTest, CopiesAreExactAndBoundNothing) {
  Submission s;
  s.kind = Submission::Kind::kCopy;
  s.touches.push_back({.ptr = DevicePtr(kSlab + MiB(1).value), .size = KiB(4), .write = false});
  std::vector<InferredRange> out;
  sets_.Infer(s, /*possible=*/true, Find, &out);
  ASSERT_EQ(out.size(), 1u);
  EXPECT_TRUE(out[0].exact);
  EXPECT_FALSE(out[0].write);
  EXPECT_EQ(out[0].size, KiB(4));
  EXPECT_EQ(Launch({kSlab})[0].size, kSlabSize);
}

class WorkingSetsRowTest : public WorkingSetsTest {
 protected:
  static constexpr int kPieces = static_cast<int>(WorkingSets::kRow) + 1;
  std::vector<InferredRange> LaunchOf(const void* code, uint64_t offset) {
    return Launch({kSlab + offset}, true, 0, code);
  }
  Bytes LikelyOf(const void* code, uint64_t offset) { return LaunchOf(code, offset)[0].size; }
  void LookAtPieces(int pieces) {
    for (int i = 0; i < pieces; ++i) LaunchOf(&pieces_, i * kPiece.value);
  }

  static constexpr Bytes kPiece = MiB(4);
  const char pieces_ = 0, whole_ = 0, other_ = 0;
};

TEST_F(WorkingSetsRowTest, PiecesOfOneCodeEndNothingForAnother) {
  LookAtPieces(kPieces);
  EXPECT_EQ(LikelyOf(&whole_, 0), kSlabSize);
  EXPECT_EQ(LikelyOf(&whole_, 0), kSlabSize);
  // They do for their own code, and that again and again.
  EXPECT_EQ(LikelyOf(&pieces_, 0), kPiece);
}

// As Thrust's is_sorted names them: what is compared first, then what it is compared with.
TEST_F(WorkingSetsRowTest, PiecesMayBeNamedTwice) {
  for (int i = 0; i < kPieces; ++i) {
    const uint64_t start = kSlab + i * kPiece.value;
    Launch({start + 8, start}, true, 0, &pieces_);
  }
  EXPECT_EQ(LikelyOf(&whole_, 0), kSlabSize);
}

TEST_F(WorkingSetsRowTest, WhatComesBehindThemStillEnds) {
  LookAtPieces(kPieces);
  LaunchOf(&other_, kPieces * kPiece.value + MiB(2).value);
  EXPECT_EQ(LikelyOf(&whole_, 0), kPieces * kPiece + MiB(2));
}

TEST_F(WorkingSetsRowTest, AFewAreArraysOfTheirOwn) {
  LookAtPieces(kPieces - 1);
  EXPECT_EQ(LikelyOf(&whole_, 0), kPiece);
}

TEST_F(WorkingSetsRowTest, ArraysThatAnotherCodeNamesEndWhatIsBeforeThem) {
  LookAtPieces(kPieces);
  for (int i = 0; i < kPieces; ++i) LaunchOf(&other_, i * kPiece.value);
  EXPECT_EQ(LikelyOf(&whole_, 0), kPiece);
}

TEST_F(WorkingSetsRowTest, UnequalStepsMakeNoRow) {
  for (int i = 0; i < kPieces; ++i)
    LaunchOf(&pieces_, i * kPiece.value + (i == 4 ? KiB(4).value : 0));
  EXPECT_EQ(LikelyOf(&whole_, 0), kPiece);
}

TEST_F(WorkingSetsRowTest, APointerIntoAPieceEndsWithIt) {
  LookAtPieces(kPieces);
  EXPECT_EQ(LikelyOf(&whole_, MiB(1).value), MiB(3));
}

TEST_F(WorkingSetsTest, FullOfBoundariesItStillAnswers) {
  uint64_t last = 0;
  for (size_t i = 0; i <= WorkingSets::kMostBoundaries; ++i) {
    last = kSlab + i * WorkingSets::kAlignment.value % kSlabSize.value;
    Launch({last});
  }
  // The old ones have made room, the recent ones hold.
  EXPECT_GT(Launch({kSlab})[0].size, WorkingSets::kAlignment);
  EXPECT_EQ(Launch({last - WorkingSets::kAlignment.value})[0].size, WorkingSets::kAlignment);
}

}  // namespace
}  // namespace vramspan
