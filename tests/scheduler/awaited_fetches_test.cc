// How long a launch waits for a fetch in place of a mapping, in plain numbers of time.
#include "runtime/scheduler/awaited_fetches.h"

#include <gtest/gtest.h>

namespace vramspan {
namespace {

using std::chrono::microseconds;
using Answer = AwaitedFetches::Answer;

Instant AtUs(int64_t us) { return Instant(microseconds(us)); }

class AwaitedFetchesTest : public ::testing::Test {
 protected:
  Answer Look(int64_t us, bool active, bool in_place = false) {
    return fetches_.Look(active, in_place, AtUs(us), &launch_);
  }

  AwaitedFetches fetches_{microseconds(6400)};  // 100 us where nothing moves or runs.
  AwaitedFetch launch_;
};

TEST_F(AwaitedFetchesTest, WaitsUntilTheDeadlineWhileAnythingMoves) {
  for (int64_t us = 1000; us <= 7400; us += 50) EXPECT_EQ(Look(us, true), Answer::kWait) << us;
  EXPECT_EQ(Look(7401, true), Answer::kInVain);
}

TEST_F(AwaitedFetchesTest, WaitsShortlyWhereNothingMoves) {
  EXPECT_EQ(Look(1000, true), Answer::kWait);
  EXPECT_EQ(Look(1100, false), Answer::kWait);
  EXPECT_EQ(fetches_.Due(launch_), AtUs(1100) + Duration(1));
  EXPECT_EQ(Look(1101, false), Answer::kInVain);
}

TEST_F(AwaitedFetchesTest, HoldsOthersBackForTwiceAsLongEachTime) {
  int64_t us = 1000;
  for (int64_t times : {2, 4, 8, 16, 32, 64, 128, 128}) {
    launch_ = {};
    EXPECT_EQ(Look(us, false), Answer::kWait);
    us += 101;
    EXPECT_EQ(Look(us, false), Answer::kInVain);
    launch_ = {};
    us += 100 * times;
    EXPECT_EQ(Look(us - 1, false), Answer::kMap) << times;
  }
  fetches_.Came();
  launch_ = {};
  EXPECT_EQ(Look(us, false), Answer::kWait);
  EXPECT_EQ(Look(us + 101, false), Answer::kInVain);
  launch_ = {};
  EXPECT_EQ(Look(us + 301, false), Answer::kWait);
}

TEST_F(AwaitedFetchesTest, APlanWithoutTheFetchCountsAsAWaitInVain) {
  fetches_.NotPlanned(AtUs(1000));
  EXPECT_EQ(Look(1199, true), Answer::kMap);
  EXPECT_EQ(Look(1200, true), Answer::kWait);
}

TEST_F(AwaitedFetchesTest, WorkThatRunsInPlaceWaitsForNone) {
  EXPECT_EQ(Look(1000, true, /*in_place=*/true), Answer::kMap);
}

}  // namespace
}  // namespace vramspan
