// When recording ends again.
#include "runtime/scheduler/recording_end.h"

#include <gtest/gtest.h>

namespace vramspan {
namespace {

Instant AfterMs(int64_t ms) { return Instant(std::chrono::milliseconds(1'000'000 + ms)); }
constexpr bool kQuiet = true;

TEST(RecordingEndTest, IsWhenNothingMovedForAWhile) {
  RecordingEnd end;
  EXPECT_FALSE(end.May(kQuiet, 7, AfterMs(0)));
  EXPECT_FALSE(end.May(kQuiet, 7, AfterMs(99)));
  EXPECT_TRUE(end.May(kQuiet, 7, AfterMs(100)));
}

TEST(RecordingEndTest, WaitsAnewAfterAMoveOrWhileSomethingIsHeld) {
  RecordingEnd end;
  EXPECT_FALSE(end.May(kQuiet, 7, AfterMs(0)));
  EXPECT_FALSE(end.May(kQuiet, 8, AfterMs(100)));
  EXPECT_FALSE(end.May(!kQuiet, 8, AfterMs(150)));
  EXPECT_FALSE(end.May(kQuiet, 8, AfterMs(250)));
  EXPECT_FALSE(end.May(kQuiet, 8, AfterMs(349)));
  EXPECT_TRUE(end.May(kQuiet, 8, AfterMs(350)));
  end.NotYet(AfterMs(350));
  EXPECT_FALSE(end.May(kQuiet, 8, AfterMs(549)));
  EXPECT_TRUE(end.May(kQuiet, 8, AfterMs(550)));
  EXPECT_FALSE(end.May(kQuiet, 9, AfterMs(551)));
  EXPECT_TRUE(end.May(kQuiet, 9, AfterMs(651))) << "what moved may have been what was in the way";
}

TEST(RecordingEndTest, TakesLongerWhereMemoryRanShortSoonAfter) {
  RecordingEnd end;
  end.Began(AfterMs(0));
  EXPECT_EQ(end.patience(), RecordingEnd::kLeast);
  end.Ended(AfterMs(100));
  end.Began(AfterMs(899));
  EXPECT_EQ(end.patience(), 2 * RecordingEnd::kLeast);
  EXPECT_FALSE(end.May(kQuiet, 0, AfterMs(900)));
  EXPECT_FALSE(end.May(kQuiet, 0, AfterMs(1099)));
  EXPECT_TRUE(end.May(kQuiet, 0, AfterMs(1100)));
  // Long enough that it was worth it, and not so long that it would be worth it sooner.
  end.Ended(AfterMs(1100));
  end.Began(AfterMs(2700));
  EXPECT_EQ(end.patience(), 2 * RecordingEnd::kLeast);
  end.Ended(AfterMs(3000));
  end.Began(AfterMs(3000 + 64 * 200));
  EXPECT_EQ(end.patience(), RecordingEnd::kLeast);
}

TEST(RecordingEndTest, PatienceHasBounds) {
  RecordingEnd end;
  for (int i = 0; i < 40; ++i) {
    end.Ended(AfterMs(0));
    end.Began(AfterMs(1));
  }
  EXPECT_EQ(end.patience(), RecordingEnd::kMost);
  for (int i = 0; i < 40; ++i) {
    end.Ended(AfterMs(0));
    end.Began(AfterMs(64 * 60'000));
  }
  EXPECT_EQ(end.patience(), RecordingEnd::kLeast);
}

}  // namespace
}  // namespace vramspan
