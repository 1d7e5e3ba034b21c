// A recording with more rounds than it has.
#include "tools/replay/more_rounds.h"

#include <gmock/gmock.h>

#include <string>

#include "tools/replay/load_run.h"
#include "tools/replay/replay_all.h"
#include "tools/replay/rounds.h"
#include "tools/replay/synthetic.h"

namespace vramspan::replay {
namespace {

using testing::HasSubstr;

RecordedRun Train() { return LoadRun(std::string(VRAMSPAN_TRACES) + "/train.vramspan").value(); }

uint64_t Takes(const RecordedRun& run, Bytes memory) {
  const ReplaySetting setting{.policy = "cost", .device_memory = memory};
  return ReplayAll(run, ReplayPrices{}, {setting}, 1, [](size_t) {}).front().predicted;
}

TEST(MoreRoundsTest, EachRoundTakesAsLongAsOneThatWasRecorded) {
  const RecordedRun run = Train();
  const Rounds rounds = Phases(run).main();
  ASSERT_FALSE(rounds.empty());
  const RecordedRun more = WithRounds(run, rounds.count() + 100).value();
  EXPECT_TRUE(more.Check().ok());
  EXPECT_EQ(Phases(more).main().count(), rounds.count() + 100);
  EXPECT_EQ(more.PeakBytes(), run.PeakBytes());
  // With all there, and with half of it. The last round is a little longer than the median one.
  for (const uint64_t part : {1, 2}) {
    const Bytes memory(run.PeakBytes().value / part);
    const ReplaySetting setting{.policy = "cost", .device_memory = memory};
    const ReplayResult once = ReplayAll(run, ReplayPrices{}, {setting}, 1, [](size_t) {}).front();
    const auto added = static_cast<double>(Takes(more, memory) - once.predicted);
    EXPECT_NEAR(added / 100, static_cast<double>(once.round),
                0.1 * static_cast<double>(once.round));
  }
}

TEST(MoreRoundsTest, WhatWasBeforeAndBehindStaysWhatItWas) {
  const RecordedRun run = Train();
  const RecordedRun more = WithRounds(run, 50).value();
  const size_t added = more.works.size() - run.works.size();
  const uint64_t later = more.works.back().submitted - run.works.back().submitted;
  EXPECT_EQ(more.steps.size() - run.steps.size(), added);
  EXPECT_EQ(more.Duration() - run.Duration(), later);
  EXPECT_EQ(more.works.front().start, run.works.front().start);
  EXPECT_EQ(more.works.back().set, run.works.back().set);
}

TEST(MoreRoundsTest, WaitsOfTheRoundComeAgainInTheirOrder) {
  RecordedRun run = SyntheticRun("synthetic:loop,layers=8,passes=20,mib=4,us=100").value();
  const Rounds rounds = Phases(run).main();
  ASSERT_FALSE(rounds.empty());
  // Each round waits once, behind its first piece of work.
  for (const uint32_t begin : rounds.begins()) {
    run.waits.push_back({.time = run.works[begin].submitted + 1, .duration = 1});
  }
  run.setting.waits_told = true;
  const uint64_t before = run.waits.size();
  const RecordedRun more = WithRounds(run, rounds.count() + 7).value();
  EXPECT_TRUE(more.Check().ok());
  EXPECT_EQ(more.waits.size(), before + 7);
  const Rounds now = Phases(more).main();
  for (size_t i = 0; i < before + 7; ++i) {
    EXPECT_EQ(more.waits[i].time, more.works[now.begins()[i]].submitted + 1) << i;
  }
}

// Also what it discards right before the next begins.
TEST(MoreRoundsTest, WhatARoundDiscardsItDiscardsEachTime) {
  const auto with_discards = [](const char* passes) {
    RecordedRun run =
        SyntheticRun(std::string("synthetic:loop,layers=8,mib=4,us=100,passes=") + passes).value();
    for (uint32_t step = 8; step < run.steps.size(); ++step) {
      if (step % 8 > 2) continue;
      const uint64_t time = run.works[step - 8].submitted;
      run.discards.push_back({time, step % 8, 0, MiB(2).value, step});
    }
    return run;
  };
  const RecordedRun run = with_discards("20"), made = with_discards("27");
  const Rounds rounds = Phases(run).main();
  ASSERT_FALSE(rounds.empty());
  const RecordedRun more = WithRounds(run, rounds.count() + 7).value();
  EXPECT_TRUE(more.Check().ok()) << more.Check();
  EXPECT_EQ(more.discards, made.discards);
}

TEST(MoreRoundsTest, WhatCannotBeRepeatedIsSaid) {
  const RecordedRun run = Train();
  EXPECT_THAT(WithRounds(run, 3).status().message(), HasSubstr("the recording has 18 rounds"));
  EXPECT_THAT(WithRounds(run, uint64_t{1} << 60).status().message(), HasSubstr("too much work"));
  const RecordedRun random = SyntheticRun("synthetic:random,works=300").value();
  EXPECT_THAT(WithRounds(random, 100).status().message(), HasSubstr("does not repeat itself"));
}

}  // namespace
}  // namespace vramspan::replay
