// When work may run, as memory lies and once it is held.
#include "runtime/scheduler/readiness.h"

#include <gtest/gtest.h>

#include "runtime/scheduler/work_counts.h"
#include "tests/scheduler/few_chunks.h"

namespace vramspan {
namespace {

// Chunks 1 to 4 on the device, 5 to 8 on the host.
class ReadinessTest : public ::testing::Test {
 protected:
  ReadinessTest() {
    for (uint32_t c = 1; c <= 4; ++c) chunks_.Fetch(c);
  }
  bool RunsAsItIs(const Work& work) { return readiness_.RunsAsItIs(work, at_); }
  bool Has(const Work& work) { return readiness_.HasItsMemory(work, at_); }
  bool Ready(Work* work) { return readiness_.Ready(work, at_, &wants_others_); }
  void Moves(uint32_t chunk) {
    chunks_.Moves(chunk);
    at_.moving = true;
  }
  void Unmap(uint32_t chunk) {
    chunks_.residency().SetUnmapped(ChunkIndex(chunk), true);
    at_.unmapped = 1;
  }

  FewChunks chunks_{8};
  WorkQueue queue_;
  WorkCounts counts_{&chunks_.residency()};
  UnmappedChunks unmapped_{&chunks_.residency(), &queue_, &counts_, std::chrono::milliseconds(20)};
  std::unique_ptr<EvictionPolicy> policy_ = MakePolicy("lru").value();
  Trials trials_{&chunks_.residency(), policy_.get(), Prices(), GiB(1)};
  Readiness readiness_{&chunks_.residency(), &unmapped_, &trials_};
  Conditions at_{.now = Instant(std::chrono::seconds(1))};
  bool wants_others_ = false;
};

TEST_F(ReadinessTest, RunsAsItIsWhereWhatItWantsIsThere) {
  EXPECT_TRUE(RunsAsItIs(SomeWork({1, 2}, {5}, {6})));
  EXPECT_FALSE(RunsAsItIs(SomeWork({1, 5})));
  SomeWork served({1, 5});
  served.wanted.in_place = {0, 1};
  served.WantTheRest();
  EXPECT_TRUE(RunsAsItIs(served));
  chunks_[5].advice = Advice::kPreferHost;
  EXPECT_TRUE(RunsAsItIs(SomeWork({1, 5})));
  chunks_[6].allocation = 0;
  EXPECT_FALSE(RunsAsItIs(SomeWork({6}))) << "packed objects come as others do";
  chunks_[6].movable = false;
  EXPECT_TRUE(RunsAsItIs(SomeWork({6}))) << "unless others of the chunk may never be declared";
}

TEST_F(ReadinessTest, RunsAsItIsBesideMovesOfOthersOnly) {
  Moves(3);
  EXPECT_TRUE(RunsAsItIs(SomeWork({1}, {2}, {3}))) << "that may move";
  EXPECT_FALSE(RunsAsItIs(SomeWork({1}, {3})));
  EXPECT_FALSE(RunsAsItIs(SomeWork({1, 3})));
  SomeWork barrier({1});
  barrier.access = Access::kPartial;
  EXPECT_FALSE(RunsAsItIs(barrier));
}

TEST_F(ReadinessTest, RunsAsItIsOnlyWithAllItMayTouchMapped) {
  Unmap(5);
  EXPECT_FALSE(RunsAsItIs(SomeWork({1}, {}, {5})));
  EXPECT_FALSE(RunsAsItIs(SomeWork({1}, {5})));
  EXPECT_TRUE(RunsAsItIs(SomeWork({1}, {6})));
}

TEST_F(ReadinessTest, BesideMovesRunsWhatNeedsAllMappedButNotWhileAnyIsNot) {
  Moves(3);
  SomeWork work({1});
  work.access = Access::kMapped;
  EXPECT_TRUE(RunsAsItIs(work)) << "it is remapped, and is mapped before and after";
  EXPECT_TRUE(Ready(&work));
  at_.lost = 1;
  EXPECT_FALSE(RunsAsItIs(work));
  EXPECT_FALSE(Ready(&work));
  at_.dead = true;
  EXPECT_TRUE(Ready(&work)) << "nothing runs any more";
  at_.dead = false;
  at_.lost = 0;
  Unmap(5);
  EXPECT_FALSE(RunsAsItIs(work)) << "though it does not name that";
  EXPECT_FALSE(Ready(&work));
}

// A swap of what only has to be mapped may fail both ways, and then nothing is mapped for a while.
TEST_F(ReadinessTest, WaitsWhileWhatItNeedsMappedHasLostItsMapping) {
  Moves(3);
  SomeWork work({1}, {}, {3});
  EXPECT_TRUE(RunsAsItIs(work));
  EXPECT_TRUE(Ready(&work));
  chunks_[3].lost = true;
  EXPECT_FALSE(RunsAsItIs(work));
  EXPECT_FALSE(Ready(&work));
  work.run_in_place = true;
  EXPECT_FALSE(Ready(&work));
  at_.dead = true;
  EXPECT_TRUE(Ready(&work)) << "nothing runs any more";
}

TEST_F(ReadinessTest, HasItsMemoryOnceTheRestCannotMove) {
  EXPECT_FALSE(Has(SomeWork({1, 5})));
  chunks_[5].movable = false;
  EXPECT_TRUE(Has(SomeWork({1, 5})));
  chunks_[6].dying = true;
  EXPECT_TRUE(Has(SomeWork({1, 6})));
  SomeWork in_place({1, 7});
  in_place.run_in_place = true;
  EXPECT_TRUE(Has(in_place));
  Moves(7);
  EXPECT_FALSE(Has(in_place)) << "not in the middle of a move";
}

TEST_F(ReadinessTest, WaitsForItsStreamToArriveUnlessItRunsInPlace) {
  SomeWork work({1});
  work.needs_arrival = true;
  EXPECT_FALSE(Has(work));
  work.run_in_place = true;
  EXPECT_TRUE(Has(work));
}

TEST_F(ReadinessTest, WaitsForWorkFromBeforeTrackingWhoseChunksMayMoveThen) {
  chunks_.residency().Track(Tracking::kSinceTracking);
  SomeWork work({5});
  EXPECT_TRUE(Has(work)) << "it cannot move, and never will";
  at_.draining = true;
  EXPECT_FALSE(Has(work));
  chunks_.residency().Track(Tracking::kAll);
  chunks_.Fetch(5);
  EXPECT_TRUE(Has(work));
}

TEST_F(ReadinessTest, AnExplicitEvictionHasItsMemoryOnTheHost) {
  SomeWork evict({5});
  evict.kind = Work::Kind::kEvict;
  EXPECT_TRUE(Has(evict));
  SomeWork both({1, 5});
  both.kind = Work::Kind::kEvict;
  EXPECT_FALSE(Has(both));
  chunks_[5].advice = Advice::kPreferHost;
  SomeWork fetch({5});
  EXPECT_TRUE(Has(fetch)) << "no work has it fetched";
  fetch.kind = Work::Kind::kFetch;
  EXPECT_FALSE(Has(fetch)) << "but who asks for it";
}

TEST_F(ReadinessTest, ABarrierWaitsUntilNothingMoves) {
  SomeWork barrier({1});
  barrier.access = Access::kUnknown;
  EXPECT_TRUE(Ready(&barrier));
  Moves(3);
  EXPECT_FALSE(Ready(&barrier));
}

TEST_F(ReadinessTest, HeldWorkWaitsForMappings) {
  Unmap(5);
  SomeWork work({1}, {5});
  queue_.Push(&work);
  EXPECT_FALSE(Ready(&work));
  EXPECT_FALSE(wants_others_);
  SomeWork next({5});
  queue_.Push(&next);
  EXPECT_FALSE(Ready(&work));
  EXPECT_TRUE(wants_others_) << "it is fetched for the next";
  at_.dead = true;
  EXPECT_TRUE(Ready(&work)) << "nothing runs any more";
}

TEST_F(ReadinessTest, ATrialWaitsForCopiesBesideIt) {
  for (int i = 0; i < 3; ++i) {
    trials_.history().Record({.kernel = 7, .touched = MiB(16), .nanoseconds = 10'000});
  }
  SomeWork head({5});
  head.kernel = 7;
  ASSERT_TRUE(trials_.Try(&head));
  EXPECT_TRUE(Ready(&head));
  Moves(3);
  EXPECT_FALSE(Ready(&head));
  head.run_in_place = true;
  EXPECT_TRUE(Ready(&head));
}

TEST(WorkCountsTest, AreZeroAgainAtTheEnd) {
  FewChunks chunks(4);
  chunks.Fetch(1);
  WorkCounts counts(&chunks.residency());
  SomeWork work({1}, {2}, {3});
  work.access = Access::kPartial;
  counts.Held(work);
  EXPECT_EQ(chunks[1].queued, 1);
  EXPECT_EQ(chunks[2].queued, 1);
  EXPECT_EQ(chunks[3].queued, 1) << "that may move meanwhile, and is not to be freed";
  counts.Unheld(work);
  chunks[1].unused = chunks[2].unused = true;
  counts.Released(work, nullptr);
  EXPECT_EQ(counts.barriers(), 1u);
  EXPECT_EQ(chunks[1].in_flight, 1);
  EXPECT_EQ(chunks[2].in_flight, 1);
  EXPECT_EQ(chunks[3].mapped_only, 1);
  EXPECT_FALSE(chunks[1].unused);
  EXPECT_TRUE(chunks[2].unused) << "it may not touch it";
  counts.Ended(work);
  EXPECT_EQ(counts.barriers(), 0u);
  for (uint32_t c = 1; c <= 3; ++c) {
    EXPECT_EQ(chunks[c].queued + chunks[c].in_flight + chunks[c].mapped_only, 0) << c;
  }
}

// It was freed, and the index given to another; when the work ended the other's count fell below 0.
TEST(WorkCountsTest, WhatHeldWorkNeedsMappedIsInUse) {
  FewChunks chunks(1);
  WorkCounts counts(&chunks.residency());
  SomeWork work({}, {}, {1});
  counts.Held(work);
  EXPECT_FALSE(IsUnused(chunks[1]));
  counts.Unheld(work);
  counts.Released(work, nullptr);
  EXPECT_FALSE(IsUnused(chunks[1]));
  counts.Ended(work);
  EXPECT_TRUE(IsUnused(chunks[1]));
}

TEST(WorkCountsTest, TellWhatChangedForThePlanner) {
  FewChunks chunks(2);
  WorkCounts counts(&chunks.residency());
  SomeWork a({1}), b({1});
  const auto changed = [&] {
    const auto taken = chunks.residency().TakeChanged();
    return std::vector<ChunkIndex>(taken.begin(), taken.end());
  };
  (void)changed();
  counts.Released(a, nullptr);
  EXPECT_EQ(changed(), std::vector<ChunkIndex>{ChunkIndex(1)});
  counts.Released(b, nullptr);
  counts.Ended(a);
  EXPECT_TRUE(changed().empty()) << "it was busy, and is";
  counts.Ended(b);
  EXPECT_EQ(changed(), std::vector<ChunkIndex>{ChunkIndex(1)});
}

TEST(WorkCountsTest, CountWhatTheDriverLooksUp) {
  FewChunks chunks(2);
  WorkCounts counts(&chunks.residency());
  SomeWork copy({1, 2});
  copy.access = Access::kUnknown;
  copy.own_uses[1].how.kernels_only = true;
  counts.SetInSubmission(&copy, true);
  counts.SetInSubmission(&copy, true);
  EXPECT_EQ(chunks[1].in_submission, 1);
  EXPECT_EQ(chunks[2].in_submission, 0);
  EXPECT_EQ(counts.unknown_in_submission(), 1u);
  counts.SetInSubmission(&copy, false);
  EXPECT_EQ(chunks[1].in_submission, 0);
  EXPECT_EQ(counts.unknown_in_submission(), 0u);
}

TEST(WorkCountsTest, CountForeignWork) {
  FewChunks chunks(1);
  WorkCounts counts(&chunks.residency());
  EXPECT_FALSE(counts.ForeignWorkEnded());
  counts.ForeignWorkBegan();
  EXPECT_EQ(counts.barriers(), 1u);
  EXPECT_TRUE(counts.ForeignWorkEnded());
  EXPECT_EQ(counts.barriers(), 0u);
}

TEST(WorkQueueTest, RunsMoreInPlaceFromTheHeadOn) {
  SomeWork a({1}), b({1}), c({1}), d({1});
  b.access = Access::kUnknown;
  WorkQueue queue;
  for (Work* work : std::initializer_list<Work*>{&a, &b, &c, &d}) queue.Push(work);
  EXPECT_EQ(queue.RunInPlace(0), 0u);
  EXPECT_EQ(queue.RunInPlace(2), 2u);
  EXPECT_TRUE(a.run_in_place && c.run_in_place);
  EXPECT_FALSE(b.run_in_place || d.run_in_place);
  EXPECT_EQ(queue.RunInPlace(9), 1u);
  EXPECT_FALSE(b.run_in_place) << "it waits until nothing moves";
}

}  // namespace
}  // namespace vramspan
