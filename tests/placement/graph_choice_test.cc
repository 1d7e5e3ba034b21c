#include "runtime/placement/graph_choice.h"

#include <gtest/gtest.h>

#include <functional>

namespace vramspan {
namespace {

constexpr Duration Ms(int64_t ms) { return std::chrono::milliseconds(ms); }

class GraphChoiceTest : public testing::Test {
 protected:
  // Launches so often, as the choice says; how many of them went in segments. What a launch takes
  // depends on how many of its way there were.
  using Times = std::function<Duration(size_t)>;
  size_t Launch(size_t launches, const Times& whole, const Times& segments) {
    size_t in_segments = 0;
    for (size_t i = 0; i < launches; ++i) {
      const GraphWay way = choice_.way();
      const bool cut = way == GraphWay::kSegments;
      in_segments += cut;
      choice_.Took(way, cut ? segments(cut_++) : whole(whole_++));
    }
    return in_segments;
  }
  static Times Always(int64_t ms) {
    return [ms](size_t) { return Ms(ms); };
  }

  GraphChoice choice_;
  size_t whole_ = 0, cut_ = 0;
};

TEST_F(GraphChoiceTest, BothAreTriedWholeFirst) {
  EXPECT_EQ(Launch(6, Always(100), Always(40)), 0u);
  EXPECT_EQ(choice_.way(), GraphWay::kSegments);
  EXPECT_FALSE(choice_.settled());
  EXPECT_EQ(Launch(6, Always(100), Always(40)), 6u);
  EXPECT_TRUE(choice_.settled());
}

TEST_F(GraphChoiceTest, TheFasterWayStays) {
  Launch(12, Always(100), Always(40));
  EXPECT_EQ(Launch(GraphChoice::kFirstStay, Always(100), Always(40)), GraphChoice::kFirstStay);
  choice_ = {};
  Launch(12, Always(40), Always(100));
  EXPECT_EQ(Launch(GraphChoice::kFirstStay, Always(40), Always(100)), 0u);
}

TEST_F(GraphChoiceTest, SegmentsThatGetFasterAreTriedOn) {
  // As a token's: slow for 15 launches, then as fast as ever.
  const Times slow_first = [](size_t i) {
    return i < 15 ? Ms(200 - 8 * static_cast<int>(i)) : Ms(70);
  };
  Launch(6 + GraphChoice::kMostTried, Always(80), slow_first);
  EXPECT_EQ(choice_.way(), GraphWay::kSegments);
  EXPECT_TRUE(choice_.settled());
}

TEST_F(GraphChoiceTest, WhatIsHopelessIsGivenUpAtOnce) {
  Launch(6, Always(10), Always(31));
  EXPECT_EQ(Launch(20, Always(10), Always(31)), GraphChoice::kJudged);
  EXPECT_EQ(choice_.way(), GraphWay::kWhole);
}

TEST_F(GraphChoiceTest, AFewSlowLaunchesDecideNothing) {
  const Times one_in_three = [](size_t i) { return i % 3 == 0 ? Ms(1000) : Ms(40); };
  Launch(12, Always(100), one_in_three);
  EXPECT_TRUE(choice_.settled());
  EXPECT_EQ(choice_.way(), GraphWay::kSegments);
}

TEST_F(GraphChoiceTest, TheOtherWayIsTriedAgainEverMoreSeldom) {
  Launch(12, Always(40), Always(100));
  const size_t tried = Launch(100'000, Always(40), Always(100));
  EXPECT_GT(tried, 0u);
  EXPECT_LE(tried, 16 * 2 * GraphChoice::kJudged);
  // And it stays, where it is faster now.
  EXPECT_GT(Launch(40'000, Always(40), Always(20)), 20'000u);
}

TEST_F(GraphChoiceTest, OtherTimesThanBeforeHaveBothTriedAgain) {
  Launch(12, Always(100), Always(40));
  for (int i = 0; i < 6; ++i) Launch(2000, Always(100), Always(40));
  ASSERT_EQ(choice_.way(), GraphWay::kSegments);
  // Within as many launches as a stay takes at least.
  Launch(GraphChoice::kFirstStay + 40, Always(100), Always(150));
  EXPECT_EQ(Launch(50, Always(100), Always(150)), 0u);
}

// Trials cost little even where no two launches are alike.
TEST_F(GraphChoiceTest, NoiseIsNotTriedAllTheTime) {
  uint64_t random = 1;
  const Times noise = [&](size_t) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    return Ms(20 + static_cast<int64_t>(random >> 58));
  };
  const size_t slow = Launch(20'000, noise, Always(140));
  EXPECT_LT(slow, 20'000u / 6);
}

TEST_F(GraphChoiceTest, LaunchesFromBeforeTheChangeDoNotCount) {
  Launch(6, Always(100), Always(40));
  for (int i = 0; i < 10; ++i) choice_.Took(GraphWay::kWhole, Ms(1));
  EXPECT_EQ(Launch(6, Always(100), Always(40)), 6u);
  EXPECT_EQ(choice_.way(), GraphWay::kSegments);
  EXPECT_TRUE(choice_.settled());
}

}  // namespace
}  // namespace vramspan
