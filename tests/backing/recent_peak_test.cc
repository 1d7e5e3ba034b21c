#include "runtime/backing/recent_peak.h"

#include <gtest/gtest.h>

namespace vramspan {
namespace {

using std::chrono::seconds;

TEST(RecentPeak, KnowsTheMostOfTheLastHalfMinute) {
  for (int phase = 0; phase < 20; ++phase) {
    SCOPED_TRACE(phase);
    RecentPeak peak;
    const Instant begin = Instant(seconds(1000 + phase));
    peak.Note(MiB(3), begin);
    peak.Note(MiB(9), begin + seconds(1));
    peak.Note(MiB(2), begin + seconds(2));
    for (int s = 2; s <= 100; ++s) {
      const Bytes most = peak.Get(begin + seconds(s));
      if (s <= 31) {
        EXPECT_EQ(most, MiB(9)) << s;
      } else if (s > 42) {
        EXPECT_EQ(most, Bytes(0)) << s;
      }
    }
    peak.Note(MiB(4), begin + seconds(100));
    EXPECT_EQ(peak.Get(begin + seconds(100)), MiB(4));
    // However long nobody looked.
    EXPECT_EQ(peak.Get(begin + seconds(100'000'000)), Bytes(0));
  }
}

}  // namespace
}  // namespace vramspan
