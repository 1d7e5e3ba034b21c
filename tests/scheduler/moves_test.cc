// How moves begin and end, and what becomes of a chunk where a step fails.
#include "runtime/scheduler/moves.h"

#include "tests/scheduler/few_moves.h"

namespace vramspan {
namespace {

using Kind = Action::Kind;
using Stage = ChunkMove::Stage;

// Two chunks fit. Work that needs the third makes the first leave, which was used least recently.
class MovesTest : public ::testing::Test {
 protected:
  MovesTest() { EXPECT_FALSE(few_.Submit(&work_, 0)); }
  ChunkMove* Evict() { return few_.Expect(Kind::kEvict, 1, 0); }
  void EvictAll() {
    ChunkMove* const out = Evict();
    few_.Copy(out);
    EXPECT_EQ(few_.Expect(Kind::kRemap, 1, 10), out);
    few_.Remap(out, 20);
  }

  FewMoves few_{4, 2};
  SomeWork work_{{3}};
};

TEST_F(MovesTest, AChunkGoesAndAnotherComesAndWorkRuns) {
  EvictAll();
  EXPECT_EQ(few_.chunk(1).state, ChunkState::kHost);
  EXPECT_FALSE(few_.chunk(1).on_device);
  ChunkMove* const in = few_.Expect(Kind::kFetch, 3, 30);
  EXPECT_EQ(few_->moves().moving_in(), MiB(16));
  few_.ExpectNothing(31);
  few_.Copy(in);
  few_.Expect(Kind::kRemap, 3, 40);
  few_.Remap(in, 50);
  EXPECT_TRUE(few_.chunk(3).on_device);
  EXPECT_EQ(few_->moves().moving_in(), Bytes(0));
  EXPECT_EQ(few_.Next(60).work, &work_);
  EXPECT_EQ(few_->moves().counts().fetches, 1u);
  EXPECT_EQ(few_->moves().counts().evictions, 1u);
}

// One for 2, which comes for the work in place of 1.
bool PrintedFor(Work* work, bool always_prints) {
  FewMoves few(2, 1, /*traced=*/true, always_prints);
  EXPECT_FALSE(few.Submit(work, 0));
  ChunkMove* const out = few.Expect(Kind::kEvict, 1, 0);
  few.Copy(out);
  few.Expect(Kind::kRemap, 1, 10);
  few.Remap(out, 20);
  return few.Expect(Kind::kFetch, 2, 30)->print;
}

TEST(Moves, NoFingerprintIsTakenWhileWorkWaits) {
  SomeWork work{{2}}, again{{2}};
  EXPECT_FALSE(PrintedFor(&work, /*always_prints=*/false));
  EXPECT_TRUE(PrintedFor(&again, /*always_prints=*/true));
}

TEST(Moves, FingerprintsAreTakenForWorkBehindWhichNoneTellsAnything) {
  SomeWork work{{2}};
  work.access = Access::kPartial;
  EXPECT_TRUE(PrintedFor(&work, /*always_prints=*/false));
}

TEST_F(MovesTest, WhatFindsNoMemoryIsTriedAgainALittleLater) {
  EvictAll();
  ChunkMove* const in = few_.Expect(Kind::kFetch, 3, 30);
  few_.Return(in->size);
  few_->Refused(in, /*failed=*/false, few_.At(30).now);
  EXPECT_EQ(few_.chunk(3).state, ChunkState::kHost);
  EXPECT_EQ(few_.chunk(3).device_slot, kNoSlot);
  few_.ExpectNothing(31);
  EXPECT_FALSE(work_.run_in_place);
  few_.Expect(Kind::kFetch, 3, 200);
}

TEST_F(MovesTest, AfterAFailureWhatWaitsRunsWithItsMemoryWhereItIs) {
  ChunkMove* const out = Evict();
  few_->Refused(out, /*failed=*/true, few_.At(0).now);
  EXPECT_EQ(few_.chunk(1).state, ChunkState::kDevice);
  EXPECT_EQ(few_.Next(1).work, &work_);
  EXPECT_EQ(work_.remote, MiB(16));
}

TEST_F(MovesTest, ACopyThatFailsIsGivenUp) {
  ChunkMove* const out = Evict();
  few_.Copy(out, {.ok = false});
  few_.Expect(Kind::kGiveUp, 1, 10);
  few_->GiveUp(out, /*failed=*/true, few_.At(10).now);
  EXPECT_EQ(few_.chunk(1).state, ChunkState::kDevice);
  EXPECT_EQ(few_->moves().size(), 0u);
}

TEST_F(MovesTest, ARemapThatIsRefusedLeavesTheChunkWhereItWas) {
  ChunkMove* const out = Evict();
  few_.Copy(out);
  few_.Expect(Kind::kRemap, 1, 10);
  few_.Remap(out, 20, RemapOutcome::kAsBefore);
  EXPECT_EQ(few_.chunk(1).state, ChunkState::kMoving);
  EXPECT_FALSE(few_.chunk(1).unmapped);
  few_.Expect(Kind::kGiveUp, 1, 20);
  few_->GiveUp(out, /*failed=*/true, few_.At(20).now);
  EXPECT_EQ(few_.chunk(1).state, ChunkState::kDevice);
}

TEST_F(MovesTest, ALostMappingIsMendedAfterAWhile) {
  ChunkMove* const out = Evict();
  few_.Copy(out);
  few_.Expect(Kind::kRemap, 1, 10);
  few_.Remap(out, 20, RemapOutcome::kLost);
  EXPECT_TRUE(few_.chunk(1).lost);
  few_.ExpectNothing(30);
  few_.Expect(Kind::kMend, 1, 5020);
  few_->Remapped(out, RemapOutcome::kLost, few_.At(5030));
  few_.ExpectNothing(5040);
  few_.Expect(Kind::kMend, 1, 10030);
  few_.Remap(out, 10030);
  EXPECT_FALSE(few_.chunk(1).lost);
  EXPECT_EQ(few_.chunk(1).state, ChunkState::kHost);
}

TEST_F(MovesTest, WhatIsUnmappedIsMappedAheadAndThatIsTakenBackIfTheCopyFails) {
  few_.residency().SetUnmapped(ChunkIndex(3), true);
  EvictAll();
  ChunkMove* const in = few_.Expect(Kind::kFetch, 3, 30);
  EXPECT_TRUE(in->ahead);
  few_.Copy(in, {.ok = false});
  few_.Expect(Kind::kUnmap, 3, 40);
  few_->Unmapped(in, /*ok=*/false, few_.At(40).now);
  EXPECT_TRUE(few_.chunk(3).lost);
  few_.ExpectNothing(50);
  few_.Expect(Kind::kUnmap, 3, 5050);
  few_->Unmapped(in, /*ok=*/true, few_.At(5050).now);
  EXPECT_FALSE(few_.chunk(3).lost);
  few_.Expect(Kind::kGiveUp, 3, 5060);
  few_->GiveUp(in, /*failed=*/true, few_.At(5060).now);
  EXPECT_TRUE(few_.chunk(3).unmapped);
  EXPECT_EQ(few_.chunk(3).state, ChunkState::kHost);
}

TEST_F(MovesTest, ADoubtfulHostCopyIsDroppedWhereItMayHaveBeenWrittenOver) {
  few_.chunk(1).Transition(ChunkState::kMoving);
  few_.chunk(1).Transition(ChunkState::kDeviceTwin);
  few_.chunk(1).Transition(ChunkState::kDeviceStale);
  ChunkMove* const out = Evict();
  few_->Refused(out, /*failed=*/false, few_.At(0).now);
  EXPECT_EQ(few_.dropped(), std::vector<uint32_t>{1});
  EXPECT_EQ(few_.chunk(1).state, ChunkState::kDevice);
}

TEST_F(MovesTest, ADetachedMoveKeepsItsChunkInUseUntilItsCopyHasEnded) {
  ChunkMove* const out = Evict();
  few_->moves().Started(out);
  few_->moves().Detach(out);
  EXPECT_EQ(few_->moves().size(), 0u);
  EXPECT_EQ(few_.chunk(1).state, ChunkState::kDevice);
  EXPECT_EQ(few_.chunk(1).in_flight, 1u);
  few_->moves().DetachedEnded(out);
  EXPECT_EQ(few_.chunk(1).in_flight, 0u);
}

// The copy still writes it.
TEST_F(MovesTest, ADetachedMoveTakesADoubtfulHostCopyAlong) {
  for (const ChunkState to :
       {ChunkState::kMoving, ChunkState::kDeviceTwin, ChunkState::kDeviceStale}) {
    few_.chunk(1).Transition(to);
  }
  few_.chunk(1).host_slot = 0;
  ChunkMove* const out = Evict();
  few_->moves().Started(out);
  few_->moves().Detach(out);
  EXPECT_EQ(few_.chunk(1).state, ChunkState::kDevice);
  EXPECT_EQ(few_.chunk(1).host_slot, kNoSlot);
  EXPECT_EQ(few_.chunk(1).in_flight, 1u);
}

TEST_F(MovesTest, NothingIsRemappedWhileAThreadMayHandItToTheDriver) {
  SomeWork copy({1});
  few_.Submit(&copy, 1);
  few_->work().SetInSubmission(&copy, true);
  ChunkMove* const out = few_.Expect(Kind::kEvict, 2, 2);
  SomeWork other({2});
  few_.Submit(&other, 3);
  few_->work().SetInSubmission(&other, true);
  few_.Copy(out);
  few_.ExpectNothing(10);
  EXPECT_TRUE(few_->reachability().MustWait(other)) << "nor does another scope open";
  few_->work().SetInSubmission(&other, false);
  few_.Expect(Kind::kRemap, 2, 20);
}

TEST_F(MovesTest, WhatABlockedThreadNamesIsGivenUpAndItsWorkRunsInPlace) {
  ChunkMove* const out = Evict();
  SomeWork copy({1});
  few_.Submit(&copy, 3);
  few_->work().SetInSubmission(&copy, true);
  few_.Copy(out);
  few_.ExpectNothing(10);
  few_.Expect(Kind::kGiveUp, 1, 300);
  EXPECT_TRUE(copy.run_in_place);
  EXPECT_FALSE(work_.run_in_place);
  few_->GiveUp(out, /*failed=*/false, few_.At(300).now);
  EXPECT_EQ(few_.chunk(1).state, ChunkState::kDevice);
}

}  // namespace
}  // namespace vramspan
