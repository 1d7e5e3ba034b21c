// What a plan is made of, and what its answer means for the work.
#include "runtime/scheduler/plan_maker.h"

#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <vector>

#include "runtime/placement/move_limits.h"
#include "tests/scheduler/few_chunks.h"

namespace vramspan {
namespace {

constexpr Duration kDeadline = std::chrono::milliseconds(20);

// Chunks 1 to 4 on a device with room for them; 5 to 8 on the host.
class PlanMakerTest : public ::testing::Test {
 protected:
  PlanMakerTest() {
    room_.budget = MiB(64);
    for (uint32_t c = 1; c <= 4; ++c) Come(c);
  }
  void Come(uint32_t c) {
    chunks_.Fetch(c);
    policy_->OnInsert(ChunkIndex(c));
    room_.used += MiB(16);
    chunks_.residency().NoteChange(ChunkIndex(c));
  }
  void Go(uint32_t c) {
    chunks_.Evict(c);
    policy_->OnRemove(ChunkIndex(c));
    room_.used -= MiB(16);
    chunks_.residency().NoteChange(ChunkIndex(c));
  }
  void Hold(Work* work) {
    work->held = true;
    counts_.Held(*work);
    queue_.Push(work);
    maker_.Submitted(work);
  }
  void Release(Work* work) {
    queue_.Pop(1);
    counts_.Unheld(*work);
    maker_.Released(work);
    counts_.Released(*work, policy_.get());
  }
  void RunAtOnce(Work* work) {
    maker_.Submitted(work);
    counts_.Released(*work, policy_.get());
  }
  void End(const Work& work) {
    counts_.Ended(work);
    maker_.Ended(work);
  }
  bool Make() {
    room_.available = room_.used < room_.budget ? room_.budget - room_.used : Bytes(0);
    return maker_.Make(room_, at_, &plan_);
  }
  static std::vector<ChunkIndex> Chunks(std::initializer_list<uint32_t> ids) {
    std::vector<ChunkIndex> chunks;
    for (const uint32_t id : ids) chunks.push_back(ChunkIndex(id));
    return chunks;
  }
  void ExpectPlan(std::initializer_list<uint32_t> evict, std::initializer_list<uint32_t> fetch) {
    EXPECT_EQ(plan_.evict, Chunks(evict));
    EXPECT_EQ(plan_.fetch, Chunks(fetch));
  }

  FewChunks chunks_{8};
  std::unique_ptr<EvictionPolicy> policy_ = MakePolicy("lru").value();
  WorkQueue queue_;
  WorkCounts counts_{&chunks_.residency()};
  Trials trials_{&chunks_.residency(), policy_.get(), Prices(), MiB(64)};
  UnmappedChunks unmapped_{&chunks_.residency(), &queue_, &counts_, kDeadline};
  Readiness readiness_{&chunks_.residency(), &unmapped_, &trials_};
  Sequence sequence_;
  Patience patience_{kDeadline};
  PlanMaker maker_{{&chunks_.residency(), &queue_, &counts_, &readiness_, &unmapped_, &trials_,
                    &sequence_, &patience_},
                   policy_.get(),
                   Prices(),
                   /*traced=*/true};
  Room room_;
  Conditions at_{.now = Instant(std::chrono::seconds(1))};
  Plan plan_;
};

TEST_F(PlanMakerTest, FetchesWhatTheHeadLacksInThePlaceOfTheLeastRecentlyUsed) {
  SomeWork head({5, 2});
  Hold(&head);
  EXPECT_FALSE(Make());
  ExpectPlan({1}, {5});
}

// Asked again at once it would say the same for ever.
TEST_F(PlanMakerTest, NothingMayGoWhereOnlyExpectedWorkIsToRunInPlace) {
  // The next one wants more than there is.
  for (int lap = 0; lap < 20; ++lap) {
    for (const uint64_t kernel : {3, 1, 2}) {
      SomeWork work(kernel == 3 ? std::vector<uint32_t>{1, 2, 3, 4, 5, 6} : std::vector{1u, 2u});
      work.signature = kernel;
      RunAtOnce(&work);
      End(work);
    }
  }
  ASSERT_TRUE(sequence_.confident());
  room_.budget = MiB(48);
  EXPECT_FALSE(Make());
  EXPECT_FALSE(plan_.in_place.empty());
}

TEST_F(PlanMakerTest, SeesWhatHasChangedSinceThePlanBefore) {
  SomeWork runs({1}), head({5, 2});
  RunAtOnce(&runs);
  Hold(&head);
  Make();
  ExpectPlan({3}, {5});
  chunks_[3].dying = true;
  chunks_.residency().NoteChange(ChunkIndex(3));
  Make();
  ExpectPlan({4}, {5});
  End(runs);
  chunks_[4].advice = Advice::kKeepOnDevice;
  chunks_.residency().NoteChange(ChunkIndex(4));
  Make();
  ExpectPlan({1}, {5});
  Go(1);
  Make();
  ExpectPlan({}, {5});
  Come(5);
  Release(&head);
  Make();
  ExpectPlan({}, {});
}

TEST_F(PlanMakerTest, BeginsNothingBesideABarrierOrWhileALaunchIsTimed) {
  SomeWork barrier({1}), head({5});
  barrier.access = Access::kPartial;
  RunAtOnce(&barrier);
  Hold(&head);
  Make();
  ExpectPlan({}, {});
  End(barrier);
  at_.draining = true;
  Make();
  ExpectPlan({}, {});
  at_.draining = false;
  SomeWork timed({1});
  timed.kernel = 3;
  timed.released_at = at_.now;
  trials_.Released(&timed);
  Make();
  ExpectPlan({}, {});
  at_.now = trials_.timed_until();
  Make();
  ExpectPlan({2}, {5});
}

TEST_F(PlanMakerTest, LooksNoFurtherThanWorkThatMayTouchAnything) {
  SomeWork head({1}), unknown({}), behind({5});
  unknown.access = Access::kUnknown;
  Hold(&head);
  Hold(&unknown);
  Hold(&behind);
  Make();
  ExpectPlan({}, {});
}

TEST_F(PlanMakerTest, BeginsNoMoreBesideABarrierThatHasItsMemory) {
  SomeWork barrier({1}), behind({5});
  barrier.access = Access::kPartial;
  Hold(&barrier);
  Hold(&behind);
  Make();
  ExpectPlan({}, {});
}

TEST_F(PlanMakerTest, LetsTheHeadRunInPlaceWhereItCannotFit) {
  SomeWork head({1, 2, 3, 4, 5});
  Hold(&head);
  EXPECT_TRUE(Make());
  EXPECT_TRUE(head.run_in_place);
  Release(&head);
  SomeWork next({6});
  Hold(&next);
  Make();
  ExpectPlan({}, {});
  EXPECT_FALSE(next.run_in_place) << "what runs will end";
  End(head);
  Make();
  ExpectPlan({1}, {6});
}

// Builds with VRAMSPAN_DCHECK compare the queue that is followed with one made anew.
TEST_F(PlanMakerTest, FollowsTheQueueNoLongerOnceMoreIsReleasedThanIsSeen) {
  std::deque<SomeWork> works;
  const auto run = [&] { RunAtOnce(&works.emplace_back(std::vector{1u})); };
  while (works.size() < kReleasedSeen) run();
  EXPECT_FALSE(Make());
  run();
  EXPECT_FALSE(Make());
}

TEST_F(PlanMakerTest, GivesUpWhatIsFetchedForOthersBeforeTheHeadRunsInPlace) {
  SomeWork head({1, 2, 3, 4}, {5}), next({5});
  Hold(&head);
  Hold(&next);
  head.awaited.chunks = Chunks({5});
  maker_.Remake();
  EXPECT_TRUE(Make());
  EXPECT_FALSE(head.run_in_place);
  EXPECT_TRUE(head.awaited.chunks.empty());
}

TEST_F(PlanMakerTest, FetchesForTheHeadWhatItWaitsForOfOthers) {
  SomeWork head({1}, {5}), next({5});
  Hold(&head);
  Hold(&next);
  head.awaited.chunks = Chunks({5});
  maker_.Remake();
  Make();
  ExpectPlan({2}, {5});
}

TEST_F(PlanMakerTest, EvictsWhatTheProgramAskedForOnceThatIsTheHead) {
  SomeWork head({5}), evict({3}), arrives({4});
  evict.kind = arrives.kind = Work::Kind::kEvict;
  arrives.needs_arrival = true;
  Hold(&head);
  Hold(&evict);
  Hold(&arrives);
  Make();
  ExpectPlan({1}, {5});
  Go(1);
  Come(5);
  Release(&head);
  Make();
  ExpectPlan({3}, {});
}

TEST_F(PlanMakerTest, FetchesWhatTheProgramAskedForWhateverItAdvised) {
  chunks_[5].advice = Advice::kPreferHost;
  SomeWork head({5});
  Hold(&head);
  Make();
  ExpectPlan({}, {});
  SomeWork prefetch({5});
  prefetch.kind = Work::Kind::kFetch;
  Hold(&prefetch);
  Make();
  ExpectPlan({1}, {5});
}

TEST_F(PlanMakerTest, FreesWhatIsOverBudgetEvenChunksToKeep) {
  for (uint32_t c = 1; c <= 4; ++c) {
    chunks_[c].advice = Advice::kKeepOnDevice;
    chunks_.residency().NoteChange(ChunkIndex(c));
  }
  SomeWork head({5});
  Hold(&head);
  Make();
  ExpectPlan({}, {});
  room_.budget = MiB(48);
  Make();
  EXPECT_EQ(plan_.evict.size(), 1u);
}

TEST_F(PlanMakerTest, GivesWayToAThreadThatIsBlockedAndMayNameAnything) {
  SomeWork head({5}), unknown({});
  unknown.access = Access::kUnknown;
  unknown.submitted_at = at_.now;
  Hold(&head);
  Hold(&unknown);
  counts_.SetInSubmission(&unknown, true);
  Make();
  ExpectPlan({1}, {5});
  at_.now += kBlockedAfter + Duration(1);
  EXPECT_TRUE(Make());
  EXPECT_TRUE(head.run_in_place);
  EXPECT_FALSE(unknown.run_in_place);
}

TEST_F(PlanMakerTest, DoesNotWaitForWhatABlockedThreadNames) {
  SomeWork copy({1});
  copy.submitted_at = at_.now;
  SomeWork head({5, 2, 3, 4});
  Hold(&head);
  Hold(&copy);
  counts_.SetInSubmission(&copy, true);
  EXPECT_FALSE(Make());
  EXPECT_FALSE(head.run_in_place) << "it may come back";
  at_.now += kBlockedAfter + Duration(1);
  EXPECT_TRUE(Make());
  EXPECT_TRUE(head.run_in_place);
}

// The queue is kept from plan to plan: whatever comes, plans are those of a queue made anew.
TEST_F(PlanMakerTest, ExpectsWhatCameInThisOrderBefore) {
  std::vector<std::unique_ptr<SomeWork>> works;
  const auto launch = [&](uint32_t chunk) {
    works.push_back(std::make_unique<SomeWork>(std::vector<uint32_t>{chunk}));
    Work* const work = works.back().get();
    work->kernel = chunk;
    work->signature = Sequence::Signature(*work);
    trials_.Want(work);
    return work;
  };
  for (int lap = 0; lap < 8; ++lap) {
    for (const uint32_t c : {1u, 2u, 3u, 4u}) {
      Work* const work = launch(c);
      RunAtOnce(work);
      End(*work);
    }
  }
  Work* const runs = launch(1);
  RunAtOnce(runs);
  SomeWork head({5});
  Hold(&head);
  Make();
  ASSERT_EQ(plan_.fetch, Chunks({5}));
  EXPECT_EQ(plan_.evict, Chunks({4})) << "needed last of 2, 3 and 4";
}

TEST(ChunkViewsTest, TellWhatChangesWithThePlan) {
  FewChunks chunks(4);
  ChunkViews views(&chunks.residency());
  chunks.Fetch(1);
  chunks[1].advice = Advice::kKeepOnDevice;
  const auto changed = [&](bool over, uint32_t trial, std::vector<ChunkIndex> stuck) {
    views.Set(over, ChunkIndex(trial), std::move(stuck));
    std::vector<uint32_t> ids;
    const auto noted = views.Changed();
    for (const ChunkIndex c : *noted) ids.push_back(c.value);
    return ids;
  };
  (void)changed(false, 0, {});
  EXPECT_TRUE(changed(false, 0, {}).empty());
  EXPECT_FALSE(views.Get(ChunkIndex(1)).movable);
  EXPECT_EQ(changed(true, 0, {}), std::vector<uint32_t>{1}) << "even what is to be kept may leave";
  EXPECT_TRUE(views.Get(ChunkIndex(1)).movable);
  EXPECT_EQ(changed(true, 2, {}), std::vector<uint32_t>{2});
  EXPECT_FALSE(views.Get(ChunkIndex(2)).movable);
  EXPECT_EQ(changed(true, 3, {}), (std::vector<uint32_t>{2, 3}));
  EXPECT_TRUE(views.Get(ChunkIndex(2)).movable);
  EXPECT_EQ(changed(true, 3, {ChunkIndex(1)}), std::vector<uint32_t>{1});
  chunks[1].in_submission = 1;
  EXPECT_FALSE(views.Get(ChunkIndex(1)).movable);
  EXPECT_EQ(changed(true, 3, {}), std::vector<uint32_t>{1});
}

TEST(ReleasedWorkTest, ForgetsWhatHasEndedInAnyOrder) {
  std::vector<std::unique_ptr<SomeWork>> works;
  ReleasedWork released;
  for (uint32_t i = 0; i < 5; ++i) {
    works.push_back(std::make_unique<SomeWork>(std::vector<uint32_t>{i + 1}));
    released.Add(works.back().get());
  }
  const auto latest = [&](size_t most) {
    std::vector<uint32_t> first;
    released.ForEachLatest(most, [&](const Work& w) { first.push_back(w.wanted.chunks[0].value); });
    return first;
  };
  EXPECT_EQ(latest(9), (std::vector<uint32_t>{1, 2, 3, 4, 5}));
  EXPECT_EQ(latest(2), (std::vector<uint32_t>{4, 5}));
  released.Remove(*works[2]);
  EXPECT_EQ(latest(3), (std::vector<uint32_t>{2, 4, 5}));
  released.Remove(*works[0]);
  released.Remove(*works[1]);
  EXPECT_EQ(released.size(), 2u);
  released.Remove(*works[4]);
  released.Remove(*works[3]);
  EXPECT_EQ(released.size(), 0u);
  released.Add(works[0].get());
  EXPECT_EQ(latest(9), std::vector<uint32_t>{1});
#ifndef VRAMSPAN_DCHECK
  released.Remove(*works[1]);
  SomeWork never({7});
  released.Remove(never);
  EXPECT_EQ(latest(9), std::vector<uint32_t>{1}) << "what is not there takes nothing along";
#endif
}

}  // namespace
}  // namespace vramspan
