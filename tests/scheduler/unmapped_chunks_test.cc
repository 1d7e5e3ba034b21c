// Host chunks without a mapping: which stay so, who waits for one, and what gets one again.
#include "runtime/scheduler/unmapped_chunks.h"

#include <gtest/gtest.h>

#include "runtime/placement/move_limits.h"
#include "tests/scheduler/few_chunks.h"

namespace vramspan {
namespace {

constexpr Duration kWaits = std::chrono::milliseconds(20);

Instant AtMillis(int64_t ms) { return Instant(std::chrono::milliseconds(ms)); }

class UnmappedChunksTest : public ::testing::Test {
 protected:
  bool MayStay(uint32_t chunk, int64_t ms = 5000) {
    return unmapped_.MayStayUnmapped(ChunkIndex(chunk), AtMillis(ms));
  }
  bool Waits(Work* work, bool has_its_memory = false, int64_t ms = 5000, bool active = true) {
    last_ = unmapped_.Look(work, has_its_memory, active, AtMillis(ms));
    return last_.waits;
  }
  // Maps what is to be mapped.
  std::vector<uint32_t> Map(int64_t idle_since = 5000, int64_t ms = 5000) {
    std::vector<uint32_t> chunks;
    while (const ChunkIndex c = unmapped_.BeginMapping(AtMillis(idle_since), AtMillis(ms))) {
      chunks.push_back(c.value);
      EXPECT_TRUE(unmapped_.mapping());
      unmapped_.Mapped(c, /*ok=*/true);
    }
    EXPECT_FALSE(unmapped_.mapping());
    return chunks;
  }
  void Unmap(std::initializer_list<uint32_t> chunks) {
    for (const uint32_t c : chunks) chunks_.residency().SetUnmapped(ChunkIndex(c), true);
  }

  FewChunks chunks_{8};
  WorkQueue queue_;
  WorkCounts counts_{&chunks_.residency()};
  UnmappedChunks unmapped_{&chunks_.residency(), &queue_, &counts_, kWaits};
  UnmappedChunks::Wait last_;
};

TEST_F(UnmappedChunksTest, AChunkStaysUnmappedUnlessSomebodyMayReachIt) {
  EXPECT_TRUE(MayStay(1));
  chunks_[1].mapped_only = 1;
  chunks_[2].in_submission = 1;
  chunks_[3].advice = Advice::kStreamedOnce;
  for (const uint32_t c : {1u, 2u, 3u}) EXPECT_FALSE(MayStay(c)) << c;
  EXPECT_TRUE(MayStay(4));
}

TEST_F(UnmappedChunksTest, ThereIsAnEndToHowManyStayUnmapped) {
  FewChunks many(kMostUnmapped + 1);
  UnmappedChunks unmapped(&many.residency(), &queue_, &counts_, kWaits);
  for (uint32_t c = 1; c < kMostUnmapped; ++c) {
    many.residency().SetUnmapped(ChunkIndex(c), true);
  }
  EXPECT_TRUE(unmapped.MayStayUnmapped(ChunkIndex(kMostUnmapped), AtMillis(5000)));
  many.residency().SetUnmapped(ChunkIndex(kMostUnmapped), true);
  EXPECT_FALSE(unmapped.MayStayUnmapped(ChunkIndex(kMostUnmapped + 1), AtMillis(5000)))
      << "a barrier would wait for all of them";
}

TEST_F(UnmappedChunksTest, WhatIsOnItsWayIsNotMappedAndWhatCouldNotBeIsAskedForAgain) {
  Unmap({1, 2});
  unmapped_.Map(ChunkIndex(1));
  unmapped_.Map(ChunkIndex(2));
  chunks_.Moves(1);
  const ChunkIndex next = unmapped_.BeginMapping(AtMillis(5000), AtMillis(5000));
  EXPECT_EQ(next, ChunkIndex(2));
  EXPECT_EQ(chunks_[2].state, ChunkState::kMoving);
  unmapped_.Mapped(next, /*ok=*/false);
  EXPECT_EQ(chunks_[2].state, ChunkState::kHost);
  EXPECT_TRUE(chunks_[2].unmapped);
  EXPECT_TRUE(Map().empty());
}

TEST_F(UnmappedChunksTest, NoneStaysUnmappedBesideABarrier) {
  SomeWork barrier({1});
  barrier.access = Access::kPartial;
  queue_.Push(&barrier);
  EXPECT_FALSE(MayStay(4, 7000)) << "it is held";
  queue_.Pop(1);
  counts_.Released(barrier, nullptr);
  EXPECT_FALSE(MayStay(4, 7000)) << "it runs";
  counts_.Ended(barrier);
  SomeWork unknown({});
  unknown.access = Access::kUnknown;
  counts_.SetInSubmission(&unknown, true);
  EXPECT_FALSE(MayStay(4, 7000)) << "it may hand any chunk to the driver";
  counts_.SetInSubmission(&unknown, false);
  EXPECT_TRUE(MayStay(4, 5000));
  unmapped_.KeepMapped(AtMillis(5000));
  EXPECT_FALSE(MayStay(4, 5999)) << "foreign work came, or a query";
  EXPECT_TRUE(MayStay(4, 6000));
  unmapped_.KeepMappedUntil(Instant::max());
  unmapped_.KeepMapped(AtMillis(7000));
  EXPECT_FALSE(MayStay(4, 9000)) << "for good is longer than a second";
}

TEST_F(UnmappedChunksTest, NoneStaysUnmappedBesideWorkThatNeedsAllMapped) {
  SomeWork work({1});
  work.access = Access::kMapped;
  queue_.Push(&work);
  EXPECT_FALSE(MayStay(4, 7000)) << "it is held";
  EXPECT_EQ(queue_.barriers(), 0u);
  queue_.Pop(1);
  EXPECT_TRUE(MayStay(4, 7000));
  counts_.Released(work, nullptr);
  EXPECT_EQ(counts_.barriers(), 0u) << "memory may move beside it";
  EXPECT_FALSE(MayStay(4, 7000)) << "it runs";
  counts_.Ended(work);
  EXPECT_TRUE(MayStay(4, 7000));
  unmapped_.Submitted(work, AtMillis(6500));
  EXPECT_FALSE(MayStay(4, 7000)) << "the next is most likely of its kind";
  SomeWork other({2}), fetch({2});
  fetch.kind = Work::Kind::kFetch;
  unmapped_.Submitted(fetch, AtMillis(6500));
  EXPECT_FALSE(MayStay(4, 7000)) << "a fetch says nothing of what runs next";
  unmapped_.Submitted(other, AtMillis(6500));
  EXPECT_TRUE(MayStay(4, 7000));
  SomeWork unknown({});
  unknown.access = Access::kPartial;
  unmapped_.Submitted(unknown, AtMillis(6500));
  unmapped_.Submitted(other, AtMillis(6500));
  EXPECT_FALSE(MayStay(4, 7499)) << "nothing is known of it";
  EXPECT_TRUE(MayStay(4, 7500));
  Unmap({3, 5});
  EXPECT_TRUE(Waits(&work));
  EXPECT_EQ(Map(), (std::vector<uint32_t>{3, 5}));
}

TEST_F(UnmappedChunksTest, ABarrierWaitsForAll) {
  Unmap({3, 5, 7});
  SomeWork barrier({1});
  barrier.access = Access::kUnknown;
  EXPECT_TRUE(Waits(&barrier));
  EXPECT_EQ(Map(), (std::vector<uint32_t>{3, 5, 7}));
  EXPECT_FALSE(MayStay(1)) << "until nothing is unmapped";
  unmapped_.AllMapped();
  EXPECT_TRUE(MayStay(1));
}

TEST_F(UnmappedChunksTest, WhatWorkTouchesMostLikelyIsMappedOnlyWhereItDoesNotComeToTheDevice) {
  Unmap({1, 2});
  SomeWork head({1, 2, 3});
  EXPECT_TRUE(Waits(&head));
  EXPECT_TRUE(Map().empty()) << "both are to come";
  EXPECT_TRUE(Waits(&head, /*has_its_memory=*/true));
  EXPECT_EQ(Map(), (std::vector<uint32_t>{1, 2}));
  SomeWork other({3});
  EXPECT_FALSE(Waits(&other));
}

TEST_F(UnmappedChunksTest, WhatWorkMayTouchIsMappedAtOnce) {
  Unmap({4, 5});
  SomeWork head({1}, {4}, {5});
  queue_.Push(&head);
  EXPECT_TRUE(Waits(&head));
  EXPECT_EQ(Map(), (std::vector<uint32_t>{4, 5}));
}

TEST_F(UnmappedChunksTest, UnlessOneOfTheNextFourIsToHaveItOnTheDevice) {
  Unmap({4, 5});
  SomeWork head({1}, {4}, {5});
  SomeWork second({2}), third({2}), fourth({2}), fifth({4}), sixth({5});
  for (Work* work : std::initializer_list<Work*>{&head, &second, &third, &fourth, &fifth, &sixth}) {
    queue_.Push(work);
  }
  EXPECT_TRUE(Waits(&head));
  EXPECT_TRUE(last_.wants_others);
  EXPECT_EQ(head.awaited.chunks, std::vector<ChunkIndex>{ChunkIndex(4)});
  EXPECT_EQ(Map(), std::vector<uint32_t>{5}) << "the sixth is too far off";
  EXPECT_TRUE(Waits(&head));
  EXPECT_FALSE(last_.wants_others) << "it is known";
}

TEST_F(UnmappedChunksTest, AFetchThatDoesNotComeIsNotWaitedForLong) {
  Unmap({4});
  SomeWork head({1}, {4}), next({4});
  queue_.Push(&head);
  queue_.Push(&next);
  EXPECT_TRUE(Waits(&head, false, 5000));
  EXPECT_TRUE(Map().empty());
  EXPECT_TRUE(Waits(&head, false, 5021));
  EXPECT_TRUE(last_.wants_others) << "in vain";
  EXPECT_TRUE(head.awaited.chunks.empty());
  EXPECT_EQ(Map(), std::vector<uint32_t>{4});
  Unmap({4});
  SomeWork later({2}, {4});
  EXPECT_TRUE(Waits(&later, false, 5030));
  EXPECT_EQ(Map(), std::vector<uint32_t>{4}) << "nor by others, for a while";
}

TEST_F(UnmappedChunksTest, AFetchThatIsNotPlannedIsNotWaitedFor) {
  Unmap({4});
  SomeWork head({1}, {4}), next({4});
  queue_.Push(&head);
  queue_.Push(&next);
  EXPECT_TRUE(Waits(&head));
  ASSERT_FALSE(head.awaited.chunks.empty());
  unmapped_.NotPlanned(&head, AtMillis(5000));
  EXPECT_TRUE(head.awaited.chunks.empty());
  EXPECT_TRUE(Waits(&head));
  EXPECT_EQ(Map(), std::vector<uint32_t>{4});
}

TEST_F(UnmappedChunksTest, AllAreMappedWhereTheProgramIsIdle) {
  Unmap({2, 6});
  EXPECT_TRUE(Map(/*idle_since=*/4900).empty());
  EXPECT_EQ(Map(4899), (std::vector<uint32_t>{2, 6}));
}

TEST(WorkQueueTest, KeepsTheOrderAndCountsBarriers) {
  SomeWork a({1}), b({2}), c({3});
  b.access = Access::kPartial;
  WorkQueue queue;
  for (Work* work : std::initializer_list<Work*>{&a, &b, &c}) queue.Push(work);
  EXPECT_EQ(queue.barriers(), 1u);
  std::vector<uint64_t> behind;
  const auto note = [&](const Work& work) {
    behind.push_back(work.id);
    return false;
  };
  EXPECT_FALSE(queue.AnyBehind(&a, 1, note));
  EXPECT_EQ(behind, std::vector<uint64_t>{b.id});
  EXPECT_FALSE(queue.AnyBehind(&c, 4, note));
  EXPECT_EQ(behind.size(), 1u);
  behind.clear();
  queue.Pop(1);
  EXPECT_FALSE(queue.AnyBehind(&a, 1, note)) << "it was the head until now";
  EXPECT_EQ(behind, std::vector<uint64_t>{b.id});
  EXPECT_TRUE(queue.Remove(&b));
  EXPECT_FALSE(queue.Remove(&b));
  EXPECT_EQ(queue.barriers(), 0u);
  queue.Push(&b);
  queue.Pop(1);
  EXPECT_EQ(queue.front(), &b);
  EXPECT_EQ(queue.barriers(), 1u);
  queue.Pop(1);
  EXPECT_TRUE(queue.empty());
  EXPECT_EQ(queue.barriers(), 0u);
}

}  // namespace
}  // namespace vramspan
