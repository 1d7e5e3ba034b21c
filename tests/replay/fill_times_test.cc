// Times of work that was not measured.
#include "tools/replay/fill_times.h"

#include <gtest/gtest.h>

#include <utility>
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

// One kernel for products of two sizes, told apart by what is launched around them.
TEST(FillTimes, OfTheSamePlaceAmongOthersBeforeThatOfTheCode) {
  std::vector<Given> given;
  uint64_t at = 0;
  for (int round = 0; round < 5; ++round) {
    // Of two kernels of code 0 one is behind code 1 and takes 20 us, one behind code 2 and 200 us.
    for (const auto& [code, took] :
         std::vector<std::pair<uint32_t, uint64_t>>{{2, 10}, {0, 20}, {4, 10}, {0, 200}}) {
      const bool told = round < 4;
      given.push_back({code, at, told ? at + 5'000 : 0, told ? at + 5'000 + took * 1000 : 0});
      at += 300'000;
    }
  }
  RecordedRun run = Recorded(given);
  FillTimes(&run);
  EXPECT_EQ(run.works[17].end - run.works[17].start, 20'000u);
  EXPECT_EQ(run.works[19].end - run.works[19].start, 200'000u);
}

// What is too long for the time there was is shorter, by the same share all of it.
TEST(FillTimes, FitBetweenWhatWasMeasured) {
  RecordedRun run = Recorded({{0, 0, 10'000, 110'000},
                              {2, 1'000, 110'000, 310'000},
                              {0, 2'000, 0, 0},
                              {2, 3'000, 0, 0},
                              {4, 4'000, 460'000, 500'000},
                              {0, 5'000, 0, 0}});
  FillTimes(&run);
  EXPECT_EQ(run.works[2].start, 310'000u);
  EXPECT_NEAR(static_cast<double>(run.works[2].end), 360'000, 100);
  EXPECT_EQ(run.works[3].start, run.works[2].end);
  EXPECT_NEAR(static_cast<double>(run.works[3].end), 460'000, 100);
  EXPECT_LE(run.works[3].end, 460'000u);
  EXPECT_EQ(run.works[5].end, 600'000u) << "nothing is known of what came behind it";
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
