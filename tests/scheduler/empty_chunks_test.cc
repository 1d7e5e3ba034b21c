// Memory whose contents the program gives up: from when on it is empty, and what fills it again.
#include "runtime/scheduler/empty_chunks.h"

#include "tests/scheduler/few_moves.h"

namespace vramspan {
namespace {

using Kind = Action::Kind;

class EmptyChunksTest : public ::testing::Test {
 protected:
  bool IsEmpty(uint32_t chunk) { return few_.chunk(chunk).empty(); }
  void GiveUp(uint32_t chunk, bool unowned = false) {
    few_->work().GivenUp(ChunkIndex(chunk), unowned);
  }
  // Work that needs the chunk comes, and 1, which is used least, makes room for it.
  ChunkMove* Evict(Work* work) {
    EXPECT_FALSE(few_.Submit(work, 0));
    return few_.Expect(Kind::kEvict, 1, 0);
  }

  // 1 and 2 are on the device, which has room for no more.
  FewMoves few_{4, 2, /*traced=*/true, /*always_prints=*/true};
};

TEST_F(EmptyChunksTest, WhatIsGivenUpLeavesAndComesWithoutACopy) {
  GiveUp(1);
  GiveUp(3);
  SomeWork work{{3}};
  ChunkMove* const out = Evict(&work);
  EXPECT_TRUE(out->clean);
  few_.Copy(out);
  few_.Expect(Kind::kRemap, 1, 10);
  few_.Remap(out, 20);
  ChunkMove* const in = few_.Expect(Kind::kFetch, 3, 30);
  EXPECT_TRUE(in->clean);
  few_.Copy(in);
  few_.Expect(Kind::kRemap, 3, 40);
  few_.Remap(in, 50);
  EXPECT_EQ(few_->moves().counts().out, Bytes(0));
  EXPECT_EQ(few_->moves().counts().in, Bytes(0));
  EXPECT_EQ(few_.chunk(3).state, ChunkState::kDevice) << "there is no copy of nothing";
  EXPECT_TRUE(IsEmpty(3)) << "the work has not run yet";
  EXPECT_EQ(few_.Next(60).work, &work);
  EXPECT_FALSE(IsEmpty(3));
  EXPECT_TRUE(IsEmpty(1));
}

TEST_F(EmptyChunksTest, WorkThatMayTouchItFillsIt) {
  SomeWork likely{{1}}, possible{{}, {1}}, loose{{}, {}, {1}};
  for (SomeWork* work : {&likely, &possible, &loose}) {
    GiveUp(1);
    EXPECT_TRUE(IsEmpty(1));
    ASSERT_TRUE(few_.Submit(work, 0));
    EXPECT_FALSE(IsEmpty(1));
    few_.End(work, 1);
  }
}

TEST_F(EmptyChunksTest, WorkThatIsHeldThenComesFirst) {
  SomeWork first{{3, 1}}, second{{1}}, third{{1}};
  few_.Submit(&first, 0);
  few_.Submit(&second, 0);
  GiveUp(1);
  few_.Submit(&third, 0);
  EXPECT_FALSE(IsEmpty(1));
  few_->work().AllInPlace();
  EXPECT_EQ(few_.Next(1).work, &first);
  EXPECT_FALSE(IsEmpty(1));
  EXPECT_EQ(few_.Next(2).work, &second);
  EXPECT_TRUE(IsEmpty(1)) << "which moves once that has ended";
  EXPECT_EQ(few_.Next(3).work, &third);
  EXPECT_FALSE(IsEmpty(1)) << "it was filled anew";
}

// A program may run ahead for more than a round.
TEST_F(EmptyChunksTest, OfSeveralTimesEachCounts) {
  SomeWork first{{3, 1}}, second{{1}}, third{{2}};
  few_.Submit(&first, 0);
  GiveUp(1);
  few_.Submit(&second, 0);
  GiveUp(1);
  few_.Submit(&third, 0);
  few_->work().AllInPlace();
  EXPECT_EQ(few_.Next(1).work, &first);
  EXPECT_TRUE(IsEmpty(1));
  EXPECT_EQ(few_.Next(2).work, &second);
  EXPECT_TRUE(IsEmpty(1));
  EXPECT_EQ(few_.Next(3).work, &third);
  GiveUp(1);
  EXPECT_TRUE(IsEmpty(1));
}

TEST_F(EmptyChunksTest, WorkThatDoesNotRunHoldsNothingUp) {
  SomeWork first{{3}};
  few_.Submit(&first, 0);
  GiveUp(1);
  EXPECT_FALSE(IsEmpty(1));
  few_->work().Cancelled(&first);
  EXPECT_TRUE(IsEmpty(1));
}

TEST_F(EmptyChunksTest, AChunkThatTakesTheIndexIsNotEmpty) {
  SomeWork first{{3}};
  few_.Submit(&first, 0);
  GiveUp(4);
  few_.residency().NoteAll();
  few_.Replace(4);
  few_->work().AllInPlace();
  EXPECT_EQ(few_.Next(1).work, &first);
  EXPECT_FALSE(IsEmpty(4));
}

TEST_F(EmptyChunksTest, NorBeforeItIsGivenUpItself) {
  SomeWork first{{3}}, second{{3}};
  few_.Submit(&first, 0);
  GiveUp(4);
  few_.residency().NoteAll();
  few_.Replace(4);
  few_.Submit(&second, 0);
  GiveUp(4);
  few_->work().AllInPlace();
  EXPECT_EQ(few_.Next(1).work, &first);
  EXPECT_FALSE(IsEmpty(4));
  EXPECT_EQ(few_.Next(2).work, &second);
  EXPECT_TRUE(IsEmpty(4));
}

TEST_F(EmptyChunksTest, WorkThatMayTouchAnythingFillsAll) {
  GiveUp(1);
  SomeWork any{{}};
  any.access = Access::kUnknown;
  ASSERT_TRUE(few_.Submit(&any, 0));
  EXPECT_FALSE(IsEmpty(1));
  // It is given up behind that, and may be another's while that runs.
  GiveUp(1);
  EXPECT_TRUE(IsEmpty(1));
  GiveUp(2, /*unowned=*/true);
  few_.End(&any, 1);
  EXPECT_FALSE(IsEmpty(1));
  EXPECT_TRUE(IsEmpty(2));
}

TEST_F(EmptyChunksTest, CodeOfWhichOnlyTheNameIsKnownMayFillAllAsWell) {
  GiveUp(1);
  SomeWork plausible{{2}};
  plausible.access = Access::kMapped;
  ASSERT_TRUE(few_.Submit(&plausible, 0));
  EXPECT_FALSE(IsEmpty(1));
}

TEST_F(EmptyChunksTest, NobodyFillsWhatNobodyOwns) {
  SomeWork any{{}}, other{{}}, named{{2}};
  any.access = other.access = Access::kUnknown;
  GiveUp(1, /*unowned=*/true);
  GiveUp(2, /*unowned=*/true);
  ASSERT_TRUE(few_.Submit(&any, 0));
  few_.End(&any, 1);
  EXPECT_TRUE(IsEmpty(1));
  // It is given out: from here on whoever has its address may.
  few_->work().Owned(ChunkIndex(1));
  EXPECT_TRUE(IsEmpty(1));
  ASSERT_TRUE(few_.Submit(&named, 2));
  few_.End(&named, 3);
  ASSERT_TRUE(few_.Submit(&other, 4));
  EXPECT_FALSE(IsEmpty(1));
  EXPECT_FALSE(IsEmpty(2));
}

TEST_F(EmptyChunksTest, WhatIsGivenOutBeforeItIsEmptyIsOwnedThen) {
  SomeWork first{{3}}, any{{}};
  any.access = Access::kUnknown;
  few_.Submit(&first, 0);
  GiveUp(1, /*unowned=*/true);
  few_->work().Owned(ChunkIndex(1));
  few_.Submit(&any, 0);
  few_->work().AllInPlace();
  EXPECT_EQ(few_.Next(1).work, &first);
  EXPECT_TRUE(IsEmpty(1));
  few_.End(&first, 2);
  EXPECT_EQ(few_.Next(3).work, &any);
  EXPECT_FALSE(IsEmpty(1));
}

// A chunk that lost its host copy leaves behind none when it holds nothing, and what was known of
// the copy is not known of the memory that it gets on the host.
TEST_F(EmptyChunksTest, NothingIsKnownOfWhatLeftWithoutACopy) {
  few_.FollowWriters();
  const auto swap = [this](uint32_t leaves, uint32_t comes, Work* work, int64_t us,
                           const CopyOutcome& comes_as = {}) {
    EXPECT_FALSE(few_.Submit(work, us));
    ChunkMove* const out = few_.Expect(Kind::kEvict, leaves, us);
    few_.Copy(out);
    few_.Expect(Kind::kRemap, leaves, us + 1);
    few_.Remap(out, us + 2);
    ChunkMove* const in = few_.Expect(Kind::kFetch, comes, us + 3);
    const bool asks = in->print;
    few_.Copy(in, comes_as);
    few_.Expect(Kind::kRemap, comes, us + 4);
    few_.Remap(in, us + 5);
    EXPECT_EQ(few_.Next(us + 6).work, work);
    few_.End(work, us + 7);
    return asks;
  };
  SomeWork writes{{3}}, other{{2}}, back{{1}}, reads{{3}}, again{{3}}, last{{2}};
  EXPECT_TRUE(swap(1, 3, &writes, 0, {.print = Fingerprint{1, 2}}));
  ASSERT_TRUE(few_->Found(ChunkIndex(3), writes.id, Fingerprint{3, 4}));
  few_.DropHostCopy(ChunkIndex(3));
  GiveUp(3);
  ASSERT_TRUE(few_.Submit(&other, 100));
  few_.End(&other, 101);
  swap(3, 1, &back, 110);
  // Something reads it where it lies, so it counts as filled.
  reads.own_uses[0].how.write = false;
  EXPECT_FALSE(few_.Submit(&reads, 200));
  few_->work().AllInPlace();
  Action next = few_.Next(201);
  if (next.kind == Kind::kMapOnHost) {
    few_->MappedOnHost(next.chunk, /*ok=*/true, few_.At(202).now);
    next = few_.Next(203);
  }
  EXPECT_EQ(next.work, &reads);
  few_.End(&reads, 204);
  ASSERT_TRUE(few_.Submit(&last, 205));
  few_.End(&last, 206);
  EXPECT_TRUE(swap(1, 3, &again, 300)) << "what comes is looked at";
}

TEST_F(EmptyChunksTest, WhatNobodyRecordedFillsAlsoWhatIsYetToBeEmpty) {
  SomeWork first{{3}};
  few_.Submit(&first, 0);
  GiveUp(1);
  few_->work().ForeignWorkBegan(few_.At(0).now);
  few_->work().ForeignWorkEnded();
  EXPECT_FALSE(few_.chunk(1).given_up()) << "nothing is to come";
  few_->work().AllInPlace();
  EXPECT_EQ(few_.Next(1).work, &first);
  EXPECT_FALSE(IsEmpty(1));
  GiveUp(1);
  few_->work().AnyMayBeWritten(/*but_read_mostly=*/false);
  EXPECT_FALSE(IsEmpty(1));
}

TEST_F(EmptyChunksTest, IsNobodysFromTheFreeUntilItIsHandedOut) {
  SomeWork first{{3}};
  few_.Submit(&first, 0);
  GiveUp(1, /*unowned=*/true);
  EXPECT_TRUE(few_.chunk(1).freed()) << "though the queue has yet to get there";
  EXPECT_FALSE(IsEmpty(1));
  GiveUp(1, /*unowned=*/true);
  few_->work().AllInPlace();
  EXPECT_EQ(few_.Next(1).work, &first);
  EXPECT_TRUE(IsEmpty(1));
  EXPECT_TRUE(few_.chunk(1).freed());
  few_->work().Owned(ChunkIndex(1));
  EXPECT_FALSE(few_.chunk(1).freed());
  EXPECT_TRUE(IsEmpty(1)) << "nothing was put into it";
  GiveUp(1, /*unowned=*/true);
  GiveUp(1, /*unowned=*/false);
  EXPECT_FALSE(few_.chunk(1).freed()) << "the program has it again, and gives its contents up";
  GiveUp(1, /*unowned=*/true);
  few_->work().AnyMayBeWritten(/*but_read_mostly=*/false);
  EXPECT_FALSE(few_.chunk(1).freed());
}

TEST_F(EmptyChunksTest, WhatIsTouchedAllTheSameIsNotNobodys) {
  GiveUp(1, /*unowned=*/true);
  EXPECT_TRUE(few_.chunk(1).freed());
  SomeWork likely{{1}};
  ASSERT_TRUE(few_.Submit(&likely, 0));
  EXPECT_FALSE(few_.chunk(1).freed());
  EXPECT_FALSE(IsEmpty(1));
  few_.End(&likely, 1);
  // Of one that is free behind it nothing is said.
  SomeWork first{{3}}, second{{1}};
  few_.Submit(&first, 2);
  few_.Submit(&second, 2);
  GiveUp(1, /*unowned=*/true);
  few_->work().AllInPlace();
  EXPECT_EQ(few_.Next(3).work, &first);
  EXPECT_EQ(few_.Next(3).work, &second);
  EXPECT_TRUE(few_.chunk(1).freed());
  EXPECT_TRUE(IsEmpty(1));
}

TEST_F(EmptyChunksTest, PinnedMemoryIsNotEmpty) {
  few_.chunk(1).Transition(ChunkState::kPinned);
  GiveUp(1);
  EXPECT_FALSE(IsEmpty(1));
}

TEST_F(EmptyChunksTest, NorIsWhatWasPinnedWhenItWasGivenUp) {
  SomeWork first{{3}};
  few_.Submit(&first, 0);
  few_.chunk(1).Transition(ChunkState::kPinned);
  GiveUp(1);
  few_.chunk(1).Transition(ChunkState::kDevice);
  few_->work().AllInPlace();
  EXPECT_EQ(few_.Next(1).work, &first);
  EXPECT_FALSE(IsEmpty(1)) << "whoever else holds it may have filled it";
}

TEST_F(EmptyChunksTest, ManyTimesTakeNoMoreMemory) {
  for (int i = 0; i < 1000; ++i) {
    GiveUp(1);
    SomeWork work{{1}};
    ASSERT_TRUE(few_.Submit(&work, i));
    few_.End(&work, i);
  }
  GiveUp(2);
  EXPECT_TRUE(IsEmpty(2));
}

}  // namespace
}  // namespace vramspan
