// What comes after what: launches that come again in the same order.
#include "runtime/scheduler/sequence.h"

#include <gtest/gtest.h>

#include <random>

#include "runtime/placement/move_limits.h"
#include "tests/scheduler/few_chunks.h"

namespace vramspan {
namespace {

class SequenceTest : public ::testing::Test {
 protected:
  // Three launches, again and again, as often as makes it sure.
  void Laps(int laps) {
    for (int lap = 0; lap < laps; ++lap) {
      for (uint32_t i = 1; i <= 3; ++i) Saw({i, i + 1}, i);
    }
  }
  Sequence::Seen Saw(std::vector<uint32_t> chunks, uint64_t kernel, uint64_t version = 0) {
    SomeWork work(std::move(chunks));
    work.kernel = kernel;
    work.wanted.version = version;
    work.signature = Sequence::Signature(work);
    return sequence_.Saw(&work);
  }
  std::vector<uint32_t> First(size_t skipped, size_t most) {
    std::vector<uint32_t> first;
    sequence_.Next(skipped, most, history_, [&](const QueuedWork& work) {
      first.push_back(work.chunks.empty() ? 0 : work.chunks[0].value);
    });
    return first;
  }

  KernelHistory history_{Prices{}};
  Sequence sequence_;
};

TEST_F(SequenceTest, SaysWhatComesNextAndWhatItWanted) {
  Laps(2);
  EXPECT_TRUE(First(0, 4).empty()) << "too few turns to be sure";
  Laps(4);
  EXPECT_TRUE(sequence_.confident());
  EXPECT_EQ(First(0, 4), (std::vector<uint32_t>{1, 2, 3, 1}));
  EXPECT_EQ(First(1, 3), (std::vector<uint32_t>{2, 3, 1}));
  EXPECT_TRUE(Saw({1, 2}, 1).expected);
  EXPECT_FALSE(Saw({3, 4}, 3).expected) << "another was";
}

TEST_F(SequenceTest, IsLookedAtFarAheadWhereThatCameTrue) {
  Laps(6);
  EXPECT_EQ(sequence_.sight(), kLeastExpected);
  Laps(400);
  EXPECT_EQ(sequence_.sight(), kExpectedWorks);
  Saw({5, 6}, 9);
  Laps(10);
  EXPECT_EQ(sequence_.sight(), kExpectedWorks) << "something was put in";
  EXPECT_TRUE(sequence_.confident());
  sequence_.Interrupted();
  EXPECT_FALSE(sequence_.confident());
}

// One of three models for each request, by no rule: the rest of a request is sure, the next is not.
TEST_F(SequenceTest, IsNotWhereTheProgramChooses) {
  std::mt19937 random(1);
  uint64_t sure = 0, far = 0;
  for (uint64_t request = 0; request < 100; ++request) {
    const uint32_t model = 200 * (random() % 3);
    for (uint32_t i = 0; i < 200; ++i) {
      Saw({model + i + 1}, model + i + 1);
      sure += sequence_.confident();
      far += sequence_.sight() != kLeastExpected;
    }
  }
  EXPECT_GT(sure, 80u * 200);
  EXPECT_LT(far, 10u * 200);
}

// As a caching allocator has it: some of what works touch lies elsewhere in each round.
TEST_F(SequenceTest, IsWhereSomeMemoryWanders) {
  std::mt19937 random(1);
  uint64_t sure = 0, far = 0;
  for (uint32_t round = 0; round < 40; ++round) {
    for (uint32_t i = 1; i <= 600; ++i) {
      const bool wanders = i % 12 == 0;
      Saw({wanders ? 1000 + static_cast<uint32_t>(random() % 1000) : i}, i);
      sure += round >= 20 && sequence_.confident();
      far += round >= 20 && sequence_.sight() != kLeastExpected;
    }
  }
  EXPECT_LT(sure, 8u * 600) << "what comes next is unsure most of the time";
  EXPECT_GT(far, 18u * 600) << "what comes far ahead is as sure as that";
}

TEST_F(SequenceTest, TellsWhenWhatItSaidIsNoLongerTrue) {
  Laps(6);
  SomeWork work({1, 2});
  work.kernel = 1;
  work.signature = Sequence::Signature(work);
  EXPECT_FALSE(sequence_.Saw(&work).changed);
  Laps(6);
  work.wanted.in_place = {1, 0};
  work.WantTheRest();
  work.wanted.version = 7;
  EXPECT_EQ(work.signature, Sequence::Signature(work)) << "wherever it is served, it is the same";
  const Sequence::Seen seen = sequence_.Saw(&work);
  EXPECT_FALSE(seen.forgotten) << "what others want is known all the same";
  ASSERT_TRUE(seen.changed) << "it wants less than the last time";
  EXPECT_EQ(*seen.changed, std::vector{ChunkIndex(2)});
  Saw({2, 3}, 2);
  Saw({3, 4}, 3);
  size_t count = 0;
  sequence_.Next(0, 1, history_, [&](const QueuedWork& next) {
    ++count;
    EXPECT_EQ(next.version, 7u);
    ASSERT_EQ(next.chunks.size(), 1u);
    EXPECT_EQ(next.chunks[0], ChunkIndex(2));
  });
  EXPECT_EQ(count, 1u);
}

TEST_F(SequenceTest, LeavesOutWhatTouchesNothing) {
  Laps(6);
  SomeWork nothing({});
  EXPECT_EQ(Sequence::Signature(nothing), 0u);
  EXPECT_FALSE(sequence_.Saw(&nothing).counts);
  SomeWork copy({9});  // Served in place.
  copy.wanted.in_place = {1};
  copy.WantTheRest();
  copy.signature = Sequence::Signature(copy);
  EXPECT_FALSE(sequence_.Saw(&copy).counts);
  const Sequence::Seen seen = Saw({1, 2}, 1);
  EXPECT_TRUE(seen.counts);
  EXPECT_TRUE(seen.expected) << "neither was part of the sequence";
}

// All that is remembered is forgotten once there is too much of it at once. What is replaced does
// not count.
TEST_F(SequenceTest, IsBounded) {
  std::vector<uint32_t> many(kMostSetChunks / 4);
  for (uint32_t i = 0; i < many.size(); ++i) many[i] = i + 1;
  Saw({1, 2}, 1, /*version=*/5);
  for (int turn = 0; turn < 12; ++turn) {
    many.pop_back();
    SomeWork work(many);
    work.kernel = 50;
    work.signature = 1234;
    EXPECT_EQ(sequence_.Saw(&work).changed.has_value(), turn != 0) << turn << ": it wants less";
  }
  SomeWork before({1, 2});
  before.kernel = 1;
  before.wanted.version = 9;
  before.signature = Sequence::Signature(before);
  sequence_.Saw(&before);
  EXPECT_EQ(before.wanted.version, 5u) << "it is remembered from before";
  bool forgotten = false;
  for (uint64_t kernel = 100; kernel < 104; ++kernel) forgotten |= Saw(many, kernel).forgotten;
  EXPECT_TRUE(forgotten);
}

}  // namespace
}  // namespace vramspan
