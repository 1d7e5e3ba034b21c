// Times of work that was not measured.
#include "tools/replay/fill_times.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/replay/random_run.h"

namespace vramspan::replay {
namespace {

// Work of one stream on 1 MiB or, of code 1, on 64 MiB.
struct Given {
  uint32_t code;
  uint64_t submitted, start, end;
};
RecordedRun Recorded(const std::vector<Given>& given) {
  RunBuilder builder;
  builder.Allocate(MiB(1));
  builder.Allocate(MiB(64));
  for (const Given& g : given) builder.Work(std::vector<uint32_t>{g.code % 2}, 1, g.code / 2);
  RecordedRun run = builder.Take();
  for (size_t i = 0; i < given.size(); ++i) {
    run.works[i].submitted = given[i].submitted;
    run.works[i].start = given[i].start;
    run.works[i].end = given[i].end;
  }
  return run;
}

TEST(FillTimes, TheMedianOfTheSameWork) {
  RecordedRun run = Recorded({{0, 0, 10'000, 30'000},
                              {0, 40'000, 45'000, 70'000},
                              {0, 80'000, 90'000, 200'000},
                              {0, 300'000, 0, 0}});
  FillTimes(&run);
  EXPECT_TRUE(run.works[3].guessed);
  EXPECT_EQ(run.works[3].start, 305'000u);
  EXPECT_EQ(run.works[3].end, 330'000u);
  EXPECT_FALSE(run.works[2].guessed);
}

TEST(FillTimes, OfAboutAsMuchMemoryBeforeThatOfTheCode) {
  // The code's other launches are over 64 times as much.
  RecordedRun run = Recorded({{0, 0, 10, 20'010},
                              {1, 100, 30'000, 930'000},
                              {1, 200, 940'000, 1'840'000},
                              {0, 300, 0, 0}});
  FillTimes(&run);
  EXPECT_EQ(run.works[3].end - run.works[3].start, 20'000u);
  EXPECT_EQ(run.works[3].start, 1'840'000u) << "behind what the stream carries";
}

TEST(FillTimes, EndsBeforeWhatWasMeasuredBehindItStarts) {
  RecordedRun run = Recorded(
      {{0, 0, 10'000, 30'000}, {0, 1'000, 0, 0}, {0, 60'000, 0, 0}, {0, 62'000, 81'000, 101'000}});
  FillTimes(&run);
  EXPECT_EQ(run.works[1].start, 30'000u);
  EXPECT_EQ(run.works[2].end, 81'000u) << "not 65,000 + 20,000";
  EXPECT_EQ(run.works[3].start, 81'000u);
}

TEST(FillTimes, WhatWasNeverMeasuredIsLeft) {
  RecordedRun run = Recorded({{0, 0, 10, 20}, {2, 100, 0, 0}});
  // Nor does a time with memory on the host count.
  run.works[0].remote = 100;
  FillTimes(&run);
  EXPECT_FALSE(run.works[1].timed());
  EXPECT_FALSE(run.works[1].guessed);
}

}  // namespace
}  // namespace vramspan::replay
