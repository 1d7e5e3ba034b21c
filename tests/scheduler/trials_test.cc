// What launches have served where it lies, and what they teach, in plain numbers of time.
#include "runtime/scheduler/trials.h"

#include <gtest/gtest.h>

#include <memory>

#include "tests/scheduler/few_chunks.h"

namespace vramspan {
namespace {

constexpr uint64_t kKernel = 17;
const Bytes kRoom = MiB(512);

Instant AtMicros(int64_t us) { return Instant(std::chrono::microseconds(us)); }

class TrialsTest : public ::testing::Test {
 protected:
  // A launch of `kernel` comes, is released at once, and ends after so long.
  void Launch(SomeWork& work, int64_t us, Duration gap = Duration(0), bool disturbed = false) {
    work.kernel = kKernel;
    trials_.PriceNew(&work, kRoom);
    Release(work);
    End(work, us, gap, disturbed);
  }
  void Release(SomeWork& work) {
    work.released_at = AtMicros(now_);
    trials_.Released(&work);
  }
  void End(SomeWork& work, int64_t us, Duration gap = Duration(0), bool disturbed = false) {
    const Instant began = AtMicros(now_);
    now_ += us;
    trials_.Finished(work, began, gap, disturbed, AtMicros(now_));
  }
  // Launches with all their memory on the device, as many as show what that takes: 20 us, so a
  // kernel that streams.
  void Settle() {
    for (int i = 0; i < 3; ++i) {
      SomeWork work({1, 2});
      Launch(work, 20);
    }
    ASSERT_TRUE(trials_.history().KnowsResident(kKernel));
  }
  int64_t ServeMicros(double passes) const {
    return static_cast<int64_t>(passes * prices_.ServeNanoseconds(MiB(16)) / 1e3);
  }

  const Prices prices_{};
  FewChunks chunks_{4};
  std::unique_ptr<EvictionPolicy> policy_ = MakePolicy("cost").value();
  Trials trials_{&chunks_.residency(), policy_.get(), prices_, kRoom};
  int64_t now_ = 1000;
};

TEST_F(TrialsTest, LeaveOneChunkOnTheHostWhereItsPriceIsUnknown) {
  chunks_.Fetch(1);
  chunks_.Fetch(2);
  Settle();
  chunks_.Evict(1);
  SomeWork head({1, 2});
  head.kernel = kKernel;
  trials_.PriceNew(&head, kRoom);
  EXPECT_EQ(head.wanted.chunks.size(), 2u);
  EXPECT_TRUE(trials_.Try(&head));
  EXPECT_TRUE(head.trial.tried);
  EXPECT_TRUE(trials_.OnTrial(head));
  EXPECT_EQ(trials_.TrialOf(head), ChunkIndex(1));
  ASSERT_EQ(head.wanted.chunks.size(), 1u);
  EXPECT_EQ(head.wanted.chunks[0], ChunkIndex(2));
  EXPECT_EQ(trials_.TrialOf(SomeWork({1})), ChunkIndex()) << "it stays away for the head only";
}

TEST_F(TrialsTest, TryNothingBeforeTheKernelWasSeenOnTheDevice) {
  chunks_.Fetch(2);
  SomeWork head({1, 2});
  head.kernel = kKernel;
  trials_.PriceNew(&head, kRoom);
  EXPECT_FALSE(trials_.Try(&head));
  EXPECT_EQ(head.wanted.chunks.size(), 2u);
}

// What one more launch tells of its memory is told in bytes that it names.
TEST_F(TrialsTest, CountWhatIsNamedOfAChunk) {
  chunks_.Fetch(1);
  SomeWork work({1, 2});
  work.own_uses[0].how.part = NamedPart::Of(MiB(1));
  work.own_uses[1].how.part = NamedPart::Of(MiB(4));
  work.kernel = kKernel;
  trials_.PriceNew(&work, kRoom);
  Release(work);
  EXPECT_EQ(work.trial.sample.touched, MiB(5));
  EXPECT_EQ(work.trial.sample.remote, MiB(4));
  EXPECT_NEAR(trials_.heat().Of(ChunkIndex(2)), 0.25, 0.01);
}

// No move and no copy begins beside it, until there are enough such launches.
TEST_F(TrialsTest, TimeWhatIsServedUntried) {
  for (int i = 0; i < 4; ++i) {
    SomeWork work({1});
    work.kernel = kKernel;
    trials_.PriceNew(&work, kRoom);
    Release(work);
    EXPECT_EQ(trials_.TimedRuns(AtMicros(now_)), i < 2) << i;
    End(work, 20 + ServeMicros(1));
  }
}

TEST_F(TrialsTest, TryOneArgumentAtATime) {
  chunks_.Fetch(1);
  chunks_.Fetch(2);
  Settle();
  chunks_.Evict(1);
  chunks_.Evict(2);
  SomeWork head({1, 2});
  head.own_uses[1].how.slot = 8;
  head.kernel = kKernel;
  EXPECT_FALSE(trials_.Try(&head)) << "what that costs could be either's doing";
}

TEST_F(TrialsTest, ServeInPlaceWhatTrialsFoundCheap) {
  chunks_.Fetch(1);
  chunks_.Fetch(2);
  Settle();
  chunks_.Evict(1);
  for (int i = 0; i < KernelHistory::kTrials; ++i) {
    SomeWork head({1, 2});
    head.kernel = kKernel;
    trials_.PriceNew(&head, kRoom);
    if (i < KernelHistory::kTrials - 1) {
      EXPECT_TRUE(trials_.Try(&head)) << i;
    }
    Release(head);
    End(head, 20 + ServeMicros(1));
  }
  SomeWork next({1, 2});
  next.kernel = kKernel;
  trials_.PriceNew(&next, Bytes(0));
  EXPECT_TRUE(next.serves(0));
  EXPECT_TRUE(next.wanted.chunks.empty())
      << "nor does it come back if it leaves before the launch runs";
}

// As a kernel with two large weights, which lie side by side.
TEST_F(TrialsTest, TryAnArgumentBesideOneThatIsServed) {
  chunks_.Fetch(1);
  chunks_.Fetch(2);
  Settle();
  const auto come = [&](SomeWork* work) {
    work->own_uses[1].how.slot = static_cast<uint16_t>(work->own_uses[0].how.slot + 1);
    work->kernel = kKernel;
    trials_.PriceNew(work, Bytes(0));
  };
  const auto trials = [&](int64_t us) {
    int made = 0;
    for (int i = 0; i < KernelHistory::kTrials; ++i) {
      SomeWork head({1, 2});
      come(&head);
      made += trials_.Try(&head) ? 1 : 0;
      Release(head);
      End(head, us);
    }
    return made;
  };
  chunks_.Evict(1);
  EXPECT_EQ(trials(20 + ServeMicros(1)), 2);
  chunks_.Evict(2);
  EXPECT_EQ(trials(20 + ServeMicros(2)), 2) << "of the other, once each byte of both";
  SomeWork next({1, 2});
  come(&next);
  EXPECT_TRUE(next.serves(0));
  EXPECT_TRUE(next.serves(1));
}

TEST_F(TrialsTest, PriceTheQueueAgainOnceSomethingIsLearnt) {
  chunks_.Fetch(1);
  chunks_.Fetch(2);
  Settle();
  chunks_.Evict(1);
  SomeWork held({1, 2}), in_place({1, 2});
  std::vector<Work*> queue = {&held, &in_place};
  for (Work* work : queue) {
    work->kernel = kKernel;
    trials_.PriceNew(work, Bytes(0));
  }
  in_place.run_in_place = true;
  trials_.PriceQueue(queue, Bytes(0));
  EXPECT_FALSE(trials_.PriceQueue(queue, Bytes(0))) << "nothing was learnt since";
  const uint64_t version = held.wanted.version;
  trials_.history().Teach(kKernel, 1, 20'000);
  EXPECT_TRUE(trials_.PriceQueue(queue, Bytes(0)));
  EXPECT_TRUE(held.serves(0));
  EXPECT_NE(held.wanted.version, version);
  EXPECT_FALSE(in_place.serves(0));
}

TEST_F(TrialsTest, TimeATrialAndTheFirstLaunchesOnTheDevice) {
  chunks_.Fetch(1);
  chunks_.Fetch(2);
  SomeWork first({1, 2});
  first.kernel = kKernel;
  Release(first);
  EXPECT_TRUE(first.timed);
  EXPECT_TRUE(trials_.TimedRuns(AtMicros(now_)));
  EXPECT_FALSE(trials_.TimedRuns(trials_.timed_until()))
      << "what takes longer is told all the same";
  End(first, 20);
  EXPECT_FALSE(trials_.TimedRuns(AtMicros(now_)));
  Settle();
  SomeWork known({1, 2});
  known.kernel = kKernel;
  Release(known);
  EXPECT_FALSE(known.timed);
  SomeWork cancelled({3});
  cancelled.kernel = kKernel + 1;
  chunks_.Fetch(3);
  Release(cancelled);
  EXPECT_TRUE(trials_.TimedRuns(AtMicros(now_)));
  trials_.Cancelled(cancelled);
  EXPECT_FALSE(trials_.TimedRuns(AtMicros(now_)));
}

TEST_F(TrialsTest, BelieveADurationThatWasSeenFinely) {
  chunks_.Fetch(1);
  chunks_.Fetch(2);
  const auto knows = [&](Duration gap, bool disturbed) {
    Trials trials(&chunks_.residency(), policy_.get(), prices_, kRoom);
    for (int i = 0; i < 3; ++i) {
      SomeWork work({1, 2});
      work.kernel = kKernel;
      work.released_at = AtMicros(1000 * i);
      trials.Released(&work);
      trials.Finished(work, work.released_at, gap, disturbed, AtMicros(1000 * i + 800));
    }
    return trials.history().KnowsResident(kKernel);
  };
  EXPECT_TRUE(knows(std::chrono::microseconds(100), false));
  EXPECT_FALSE(knows(std::chrono::microseconds(101), false)) << "an eighth of 800 us is 100";
  EXPECT_FALSE(knows(Duration(0), true)) << "it may have waited for something else";
}

TEST_F(TrialsTest, WaitForCopiesBesideThemForAWhile) {
  chunks_.Fetch(1);
  chunks_.Fetch(2);
  Settle();
  chunks_.Evict(1);
  SomeWork head({1, 2});
  head.kernel = kKernel;
  ASSERT_TRUE(trials_.Try(&head));
  EXPECT_FALSE(trials_.WaitsForCopies(false, AtMicros(0)));
  EXPECT_TRUE(trials_.WaitsForCopies(true, AtMicros(100)));
  EXPECT_EQ(trials_.WaitsUntil(), AtMicros(10'100));
  EXPECT_TRUE(trials_.WaitsForCopies(true, AtMicros(10'099)));
  EXPECT_FALSE(trials_.WaitsForCopies(true, AtMicros(10'100))) << "what hangs is not waited for";
  SomeWork next({1, 2});
  next.kernel = kKernel;
  ASSERT_TRUE(trials_.Try(&next));
  EXPECT_TRUE(trials_.WaitsForCopies(true, AtMicros(50'000))) << "each trial has its own wait";
}

// What another launch needs on the device soon after crosses the bus once, if it is moved now.
TEST_F(TrialsTest, MoveWhatIsNeededSoonAfter) {
  constexpr uint64_t kCheap = 21, kDear = 22;
  trials_.history().Teach(kCheap, 1, 20'000);
  trials_.history().Teach(kDear, 9, 20'000);
  const auto launch = [&](uint64_t kernel, SomeWork* work) {
    work->kernel = kernel;
    work->signature = kernel << 32;
    trials_.PriceNew(work, Bytes(0));
  };
  SomeWork first({1});
  launch(kCheap, &first);
  EXPECT_TRUE(first.serves(0)) << "nobody is known to need it";
  SomeWork dear({1}), again({1}), once({1});
  launch(kDear, &dear);
  launch(kCheap, &again);
  EXPECT_FALSE(again.serves(0));
  launch(kCheap, &once);
  EXPECT_TRUE(once.serves(0)) << "this time nobody did";
}

// A process under a broker begins with next to nothing.
TEST_F(TrialsTest, HeatLastsAsLongAsTheBudgetOfNowSays) {
  const auto left = [&](Bytes budget) {
    Trials trials(&chunks_.residency(), policy_.get(), prices_, Bytes(0));
    trials.BudgetIs(budget);
    for (uint32_t chunk = 1; chunk <= 3; ++chunk)
      trials.heat().Use(ChunkIndex(chunk), MiB(16), MiB(16));
    return trials.heat().Of(ChunkIndex(1));
  };
  EXPECT_LT(left(Bytes(0)), 1e-9);
  EXPECT_GT(left(MiB(64)), 0.8);
}

}  // namespace
}  // namespace vramspan
