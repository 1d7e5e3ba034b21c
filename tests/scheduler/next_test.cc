// What comes first, and how long that may be waited for.
#include "runtime/placement/move_limits.h"
#include "runtime/scheduler/scheduler.h"
#include "tests/scheduler/few_moves.h"

namespace vramspan {
namespace {

using Kind = Action::Kind;

TEST(SchedulerNext, WorkThatHasItsMemoryRunsAtOnceAndInOrder) {
  FewMoves few(3, 2);
  SomeWork first({3}), second({2});
  EXPECT_FALSE(few.Submit(&first, 0));
  EXPECT_FALSE(few.Submit(&second, 1)) << "it stays behind the first";
  SomeWork alone({1});
  FewMoves other(3, 2);
  EXPECT_TRUE(other.Submit(&alone, 0));
}

TEST(SchedulerNext, ReleasesComeBeforeMovesThatHaveEnded) {
  FewMoves few(18, 16);
  SomeWork first({17}), second({18});
  few.Submit(&first, 0);
  few.Submit(&second, 0);
  ChunkMove* const out1 = few.Expect(Kind::kEvict, 1, 1);
  ChunkMove* const out2 = few.Expect(Kind::kEvict, 2, 1);
  few.Copy(out1);
  few.Copy(out2);
  few.Expect(Kind::kRemap, 1, 2);
  few.Remap(out1, 3);
  ChunkMove* const in = few.Expect(Kind::kFetch, 17, 4);
  few.Copy(in);
  few.Expect(Kind::kRemap, 2, 5);
  few.Remap(out2, 6);
  few.Expect(Kind::kFetch, 18, 7);
  few.Expect(Kind::kRemap, 17, 8);
  few.Remap(in, 9);
  EXPECT_EQ(few.Next(10).work, &first);
}

TEST(SchedulerNext, WhatCannotBeServedInTimeRunsInPlace) {
  FewMoves few(3, 2);
  SomeWork runs({1, 2}), waits({3});
  EXPECT_TRUE(few.Submit(&runs, 0));
  EXPECT_FALSE(few.Submit(&waits, 0));
  few.ExpectNothing(10);
  const Instant due = few->Due(few.At(10), Instant::max());
  EXPECT_EQ(due, few.At(20000).now);
  few.ExpectNothing(19999);
  const Action action = few.Next(20000);
  EXPECT_EQ(action.kind, Kind::kRelease);
  EXPECT_EQ(action.work, &waits);
  EXPECT_EQ(few->work().statistics().deadlines, 1u);
  EXPECT_EQ(few->work().statistics().in_place, 1u);
}

TEST(SchedulerNext, AnActionThatTakesLongIsNoWaitInVain) {
  FewMoves few(3, 2);
  SomeWork waits({3});
  few.Submit(&waits, 0);
  ChunkMove* const out = few.Expect(Kind::kEvict, 1, 1);
  few.Copy(out);
  few.Expect(Kind::kRemap, 1, 2);
  few.Remap(out, 150'000);  // The driver was away, for far longer than the deadline.
  EXPECT_EQ(few.Next(150'000).kind, Kind::kFetch);
  EXPECT_FALSE(waits.run_in_place);
}

TEST(SchedulerNext, ADeadContextLetsEverythingGo) {
  FewMoves few(3, 2);
  SomeWork runs({1, 2}), waits({3});
  few.Submit(&runs, 0);
  few.Submit(&waits, 0);
  few->work().ContextDied();
  EXPECT_EQ(few.Next(1).work, &waits);
}

TEST(SchedulerNext, StuckCopiesOfASharedContextAreDetachedAndOnlyThere) {
  for (const bool shared : {false, true}) {
    FewMoves few(3, 2);
    if (shared) few->ShareContext();
    SomeWork waits({3});
    few.Submit(&waits, 0);
    ChunkMove* const out = few.Expect(Kind::kEvict, 1, 1);
    few->moves().Started(out);
    few.ExpectNothing(20'001);
    EXPECT_EQ(few.Next(300'000).work, &waits) << "it has waited for long enough";
    EXPECT_EQ(few.Next(300'000).kind, shared ? Kind::kDetach : Kind::kNothing);
  }
}

TEST(SchedulerNext, WhatFillsTheStreamsIsAsMuchAsHeldLaunchesMake) {
  FewMoves few(3, 2);
  std::vector<std::unique_ptr<SomeWork>> works;
  while (!few->work().Full(/*kernels_only=*/false)) {
    works.push_back(std::make_unique<SomeWork>(std::vector<uint32_t>{3}));
    few.Submit(works.back().get(), 0);
  }
  EXPECT_EQ(works.size(), kMostHeld);
  EXPECT_FALSE(few->work().Full(/*kernels_only=*/true));
  const auto most = static_cast<uint32_t>(kEntriesHeld * (kMostHeldKernels - kMostHeld));
  few->work().FollowedBy(works.front().get(), most);
  EXPECT_TRUE(few->work().Full(/*kernels_only=*/true));
  EXPECT_TRUE(few->work().Cancelled(works.front().get()));
  EXPECT_FALSE(few->work().Full(/*kernels_only=*/false));
}

// A program that uses chunks 1 to 5 one after the other, again and again, on a device with room for
// four.
class Repeats : public ::testing::Test {
 protected:
  Repeats() {
    for (int lap = 0; lap < 4; ++lap) {
      for (uint32_t c = 1; c <= 5; ++c) Run(c);
    }
  }
  // The work is there, and runs when this returns.
  Work* Begin(uint32_t chunk) {
    Work* const work = works_.emplace_back(std::make_unique<SomeWork>(std::vector{chunk})).get();
    work->signature = Sequence::Signature(*work);
    for (bool runs = few_.Submit(work, us_); !runs; us_ += 10) {
      const Action action = few_.Next(us_);
      runs = action.work == work;
      Do(action);
    }
    return work;
  }
  void Run(uint32_t chunk) {
    Work* const work = Begin(chunk);
    us_ += 100;
    few_.End(work, us_);
    for (Action action = few_.Next(us_); action.kind != Kind::kNothing; action = few_.Next(us_)) {
      Do(action);
    }
  }
  void Do(const Action& action) {
    if (action.kind == Kind::kFetch || action.kind == Kind::kEvict) few_.Copy(action.move);
    if (action.kind == Kind::kRemap) few_.Remap(action.move, us_);
  }
  // Work runs that has its chunk. Returns the one that is not there.
  uint32_t BeginWithRoomForAll() {
    uint32_t next = 1;
    for (; !IsThere(next); ++next) Run(next);
    Begin(next);
    uint32_t missing = 1;
    while (IsThere(missing)) ++missing;
    few_.SetBudget(MiB(16) * 5);
    few_->LookAgain();
    us_ += 1000;
    return missing;
  }
  bool IsThere(uint32_t chunk) { return few_.chunk(chunk).on_device; }

  FewMoves few_{5, 4};
  int64_t us_ = 0;
  std::vector<std::unique_ptr<SomeWork>> works_;
};

TEST_F(Repeats, WhatIsExpectedComesThoughNothingIsHeld) {
  const uint32_t missing = BeginWithRoomForAll();
  EXPECT_TRUE(few_->queue().empty());
  few_.Expect(Kind::kFetch, missing, us_);
}

TEST_F(Repeats, WhatIsToStayAwayDoesNotComeForWhatIsMerelyExpected) {
  const uint32_t missing = BeginWithRoomForAll();
  Do(few_.Next(us_));
  const uint32_t other = missing % 5 + 1;
  SomeWork leaves({other});
  leaves.kind = Work::Kind::kEvict;
  few_.Submit(&leaves, us_);
  for (Action action = few_.Next(us_); action.kind != Kind::kNothing; action = few_.Next(us_)) {
    Do(action);
  }
  few_.End(&leaves, us_);
  us_ += 10'000;
  few_->LookAgain();
  few_.ExpectNothing(us_);
  EXPECT_FALSE(IsThere(other));
}

// Else what was asked for could leave before the launch comes that it was asked for.
TEST_F(Repeats, NothingComesForWhatIsMerelyExpectedOnceTheProgramAsksForMemory) {
  const uint32_t missing = BeginWithRoomForAll();
  SomeWork fetch({missing % 5 + 1});
  fetch.kind = Work::Kind::kFetch;
  if (!few_.Submit(&fetch, us_)) {
    EXPECT_EQ(few_.Next(us_).work, &fetch);
  }
  few_.End(&fetch, us_);
  us_ += 10'000;
  few_->LookAgain();
  few_.ExpectNothing(us_);
  EXPECT_FALSE(few_->planning().pending());
  // The launch.
  SomeWork work({missing % 5 + 1});
  ASSERT_TRUE(few_.Submit(&work, us_));
  us_ += 10'000;
  few_.Expect(Kind::kFetch, missing, us_);
}

TEST_F(Repeats, WhatIsExpectedIsLookedAtLessOftenWhileAllOfItIsThere) {
  few_.SetBudget(MiB(16) * 5);
  for (int lap = 0; lap < 2; ++lap) {
    for (uint32_t c = 1; c <= 5; ++c) Run(c);
  }
  for (uint32_t c = 1; c <= 5; ++c) ASSERT_TRUE(IsThere(c));
  for (uint32_t c = 1; c <= 5; ++c) {
    us_ += 20'000;
    Run(c);
  }
  EXPECT_FALSE(few_->planning().pending());
  // Something has ended since, so there is something to look at, in a while.
  Work* const work = Begin(1);
  few_.End(work, us_ + 100);
  EXPECT_EQ(few_->Due(few_.At(us_ + 100), Instant::max()), few_.At(us_ + 3200).now);
  EXPECT_TRUE(few_->planning().pending());
  EXPECT_EQ(few_->planning().looks_each(), Duration::max()) << "nothing lacks room";
}

TEST_F(Repeats, ARefusalOfWhatNobodyWaitsForIsTriedAgainInAWhile) {
  const uint32_t missing = BeginWithRoomForAll();
  ChunkMove* const move = few_.Expect(Kind::kFetch, missing, us_);
  few_.Return(MiB(16));
  few_->Refused(move, /*failed=*/false, few_.At(us_).now);
  few_.ExpectNothing(us_ + 101);
  EXPECT_EQ(few_->Due(few_.At(us_ + 101), Instant::max()), few_.At(us_ + 20'000).now);
  few_.ExpectNothing(us_ + 19'999);
  few_.Expect(Kind::kFetch, missing, us_ + 20'000);
}

TEST(SchedulerNext, IdleProgramsHaveTheirHostMemoryMappedAgain) {
  FewMoves few(3, 2);
  few.residency().SetUnmapped(ChunkIndex(3), true);
  SomeWork work({1});
  few.Submit(&work, 0);
  few.End(&work, 10);
  few.ExpectNothing(20);
  EXPECT_EQ(few->Due(few.At(20), Instant::max()),
            few.At(10).now + UnmappedChunks::kIdle + Duration(1));
  const Action action = few.Next(100'011);
  EXPECT_EQ(action.kind, Kind::kMapOnHost);
  EXPECT_EQ(action.chunk, ChunkIndex(3));
  EXPECT_TRUE(few->moving());
  few->MappedOnHost(action.chunk, /*ok=*/true, few.At(100'020).now);
  EXPECT_FALSE(few->moving());
  EXPECT_FALSE(few.chunk(3).unmapped);
}

// It was due at once, again and again, until a pause of five milliseconds was over.
TEST(SchedulerNext, NothingIsDueBeforeAPauseEnds) {
  FewMoves few(3, 2);
  few.residency().SetUnmapped(ChunkIndex(3), true);
  SomeWork work({1});
  few.Submit(&work, 0);
  few.End(&work, 10);
  const Action action = few.Next(100'011);
  ASSERT_EQ(action.kind, Kind::kMapOnHost);
  few->MappedOnHost(action.chunk, /*ok=*/false, few.At(100'020).now);
  few.ExpectNothing(100'030);
  const Instant due = few->Due(few.At(100'030), Instant::max());
  EXPECT_GT(due, few.At(100'030).now);
  const auto us = std::chrono::duration_cast<std::chrono::microseconds>(due - few.At(0).now);
  EXPECT_EQ(few.Next(us.count() + 1).kind, Kind::kMapOnHost);
}

// Work that nobody saw may write the chunk behind the fingerprint.
TEST(SchedulerNext, AFingerprintSaysNothingBesideWorkThatMayHaveGoneUnseen) {
  for (const Tracking tracking : {Tracking::kAll, Tracking::kSinceTracking}) {
    FewMoves few(1, 1);
    few.FollowWriters();
    few->Track(tracking);
    constexpr Fingerprint kSame{1, 2};
    SomeWork first({1}), second({1});
    for (SomeWork* const work : {&first, &second}) {
      EXPECT_TRUE(few.Submit(work, 0));
      (void)few->Found(ChunkIndex(1), work->id, kSame);
    }
    EXPECT_EQ(few.chunk(1).last_unchanged, tracking == Tracking::kAll);
  }
}

}  // namespace
}  // namespace vramspan
