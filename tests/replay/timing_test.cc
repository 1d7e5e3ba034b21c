// What is read from a recorded run's times.
#include "tools/replay/timing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "tests/replay/random_run.h"
#include "tools/replay/replay_all.h"

namespace vramspan::replay {
namespace {

constexpr uint64_t kUs = 1000;

// One work after another, each on 64 MiB of its own, timed by hand.
struct Times {
  uint32_t stream;
  uint64_t submitted, start, end;
};
RecordedRun Recorded(const std::vector<Times>& times, const std::vector<uint32_t>& codes = {}) {
  RunBuilder builder;
  for (size_t i = 0; i < times.size(); ++i) builder.Allocate(MiB(64));
  for (uint32_t i = 0; i < times.size(); ++i) {
    builder.Work(std::vector<uint32_t>{i}, 1, codes.empty() ? 0 : codes[i], times[i].stream);
  }
  RecordedRun run = builder.Take();
  for (RecordedAllocation& a : run.allocations) a.allocated = 0;
  for (size_t i = 0; i < times.size(); ++i) {
    run.works[i].submitted = times[i].submitted * kUs;
    run.works[i].start = times[i].start * kUs;
    run.works[i].end = times[i].end * kUs;
  }
  return run;
}

TEST(Timing, WorkWaitsForItsStreamAndForWhatEndedLastBeforeIt) {
  const RecordedRun run = Recorded({{0, 0, 5, 1000}, {1, 10, 15, 300}, {1, 20, 1003, 1500}});
  const Timing timing(&run, {});
  EXPECT_EQ(timing.of(0).lag, 5 * kUs);
  EXPECT_EQ(timing.of(1).after, kNoWork);
  EXPECT_EQ(timing.of(1).lag, 5 * kUs);
  // Its stream was free from 300 on.
  EXPECT_EQ(timing.of(2).after, 0u);
  EXPECT_EQ(timing.of(2).lag, 3 * kUs);
  EXPECT_EQ(ResidentTime(run, {}), 1500 * kUs);
}

// What waits for slower work waits longer, whichever stream that is in.
TEST(Timing, ADelayIsHandedOn) {
  RecordedRun run = Recorded({{0, 0, 0, 1000}, {1, 10, 1003, 1500}});
  // The first is a copy whose memory finds no place on the device: nothing is fetched for it.
  run.works[1].set = run.works[0].set;
  run.works[0].kind = WorkKind::kCopy;
  run.works[0].set = run.AddSet({{.allocation = 1, .size = MiB(64).value, .exact = true}});
  const ReplaySetting setting{
      .policy = "lru", .device_memory = MiB(64), .overlap = ReplayOverlap::kAll};
  const auto predicted = [&] {
    return ReplayAll(run, {}, {setting}, 1, [](size_t) {}).front().predicted;
  };
  const uint64_t waits = predicted();
  EXPECT_GT(waits, 1500 * kUs);
  run.works[1].start = 15 * kUs;
  run.works[1].end = 512 * kUs;
  EXPECT_NEAR(static_cast<double>(waits - predicted()), 500.0 * kUs, 20.0 * kUs);
}

TEST(Timing, TheProgramWaitsForWhatEndedInALongGap) {
  const RecordedRun run =
      Recorded({{0, 0, 0, 1000}, {0, 5, 1000, 2000}, {0, 2030, 2035, 2100}, {0, 2110, 2115, 2200}});
  const Timing timing(&run, {});
  const auto step = [&](uint32_t work) { return timing.step(run.allocations.size() + work); };
  EXPECT_EQ(step(1).after, kNoWork);
  EXPECT_EQ(step(1).think, 5 * kUs);
  EXPECT_EQ(step(2).after, 1u);
  EXPECT_EQ(step(2).think, 1000 * kUs) << "what it waits for takes so long alone";
  EXPECT_EQ(step(2).rest, 30 * kUs);
  EXPECT_EQ(step(3).after, 2u) << "80 us are no launch";
  // A gap as short as a launch had no wait in it, though work ended then.
  const RecordedRun busy = Recorded({{0, 0, 0, 8}, {0, 10, 10, 18}, {0, 20, 20, 28}});
  EXPECT_EQ(Timing(&busy, {}).step(5).after, kNoWork);
}

// Where it is told what the program waited for, nothing else is taken for a wait.
TEST(Timing, TheProgramWaitsForWhatItIsToldToHaveWaitedFor) {
  using For = RecordedWait::For;
  RecordedRun run =
      Recorded({{0, 0, 0, 100}, {1, 200, 200, 900}, {0, 400, 400, 500}, {0, 1000, 1000, 1100}});
  run.setting.waits_told = true;
  const auto step = [&](uint32_t work) {
    return Timing(&run, {}).step(run.allocations.size() + work);
  };
  EXPECT_EQ(step(1).after, kNoWork) << "what it submitted before had ended by then";
  EXPECT_EQ(step(1).think, 200 * kUs);
  // 500 to 900: for all that there was, of which the second took longest.
  run.waits = {{900 * kUs, 400 * kUs, For::kAll}};
  EXPECT_EQ(step(2).after, kNoWork);
  EXPECT_EQ(step(3).after, 1u);
  EXPECT_EQ(step(3).think, 100 * kUs);
  EXPECT_EQ(step(3).rest, 100 * kUs);
  run.waits[0].what = For::kStream;
  EXPECT_EQ(step(3).after, 2u);
  run.waits[0].stream = 1;
  EXPECT_EQ(step(3).after, 1u);
  run.waits[0].stream = 7;
  EXPECT_EQ(step(3).after, kNoWork) << "nothing was submitted there";
  EXPECT_EQ(step(3).think, 600 * kUs);
  run.waits[0].what = For::kEvent;
  EXPECT_EQ(step(3).after, 1u) << "it ended last";
  // Two: what lies between them comes after both.
  run.waits = {{550 * kUs, 50 * kUs, For::kStream, 0}, {950 * kUs, 150 * kUs, For::kStream, 1}};
  EXPECT_EQ(step(3).after, 1u);
  EXPECT_EQ(step(3).think, 100 * kUs);
  EXPECT_EQ(step(3).rest, 300 * kUs);
  // Another thread's, which began before this one's last step.
  run.waits = {{900 * kUs, 600 * kUs, For::kAll}};
  EXPECT_EQ(step(3).after, kNoWork);
}

// A run that is not recorded is as much faster, but where memory is short: then every launch is
// looked at as if it were.
TEST(Timing, WhatRecordingTookIsTakenOut) {
  std::vector<Times> times;
  for (uint64_t i = 0; i < 100; ++i) times.push_back({0, 30 * i, 30 * i + 5, 30 * i + 10});
  RecordedRun run = Recorded(times);
  const auto predicted = [&](Bytes memory) {
    const ReplaySetting setting{
        .policy = "lru", .device_memory = memory, .overlap = ReplayOverlap::kSafe};
    return ReplayAll(run, {}, {setting}, 1, [](size_t) {}).front().predicted;
  };
  const uint64_t enough = predicted(GiB(8)), little = predicted(GiB(1));
  for (RecordedWork& work : run.works) work.cost = 3 * kUs;
  run.works[7].cost = 100 * kUs;
  EXPECT_EQ(enough - predicted(GiB(8)), (98 * 3 + 20) * kUs) << "no more than there was, each";
  EXPECT_EQ(little, predicted(GiB(1)));
}

// A copy of a program that is as far ahead as the driver lets it be is held like any launch.
TEST(Timing, AStreamWithFarMoreToDoWasNotWaitedFor) {
  RecordedRun run = Recorded({{0, 0, 0, 1000}, {0, 10, 1000, 9000}, {0, 1020, 9000, 9100}});
  run.setting.waits_told = true;
  run.waits = {{1000 * kUs, 900 * kUs, RecordedWait::For::kStream}};
  const auto step = [&] { return Timing(&run, {}).step(run.allocations.size() + 2); };
  EXPECT_EQ(step().after, kNoWork);
  EXPECT_EQ(step().think, 1010 * kUs);
  // A guess of an end may be off by some.
  run.works[1].end = 1900 * kUs;
  EXPECT_EQ(step().after, 1u);
  run.works[1].end = 9000 * kUs;
  run.waits[0].what = RecordedWait::For::kAll;
  EXPECT_EQ(step().after, 1u) << "that call does nothing else";
}

// How long a program waits until the device has nothing left to do is the device's business: with
// less ahead of it, it waits less.
TEST(Timing, TheProgramThinksNoLongerBecauseTheDeviceIsBehind) {
  const RecordedRun all = Recorded({{0, 0, 0, 9000}, {0, 10, 9000, 9001}, {0, 9050, 9060, 9100}});
  const Timing timing(&all, {});
  const StepTiming& last = timing.step(all.allocations.size() + 2);
  EXPECT_EQ(last.after, 1u);
  EXPECT_EQ(last.think, 20 * kUs) << "it may have been busy for so long";
  EXPECT_EQ(last.rest, 49 * kUs);
  // While other work goes on, the program may have had something else to do.
  const RecordedRun other = Recorded({{0, 0, 0, 9000}, {1, 10, 10, 99000}, {0, 9050, 9060, 9100}});
  EXPECT_EQ(Timing(&other, {}).step(all.allocations.size() + 2).think, 8990 * kUs);
}

TEST(Timing, DurationsOfRemoteWorkComeFromItsLikes) {
  //                   same code and set                  same code        nobody's like
  RecordedRun run = Recorded(
      {{0, 0, 0, 100}, {0, 0, 100, 900}, {0, 0, 900, 1500}, {0, 0, 1500, 4000}}, {0, 0, 0, 1});
  run.works[1].set = run.works[0].set;
  for (const uint32_t i : {1, 2, 3}) run.works[i].remote = MiB(64).value;
  const ReplayPrices prices;
  const Timing timing(&run, prices);
  EXPECT_EQ(timing.of(0).duration, 100 * kUs);
  EXPECT_EQ(timing.of(1).duration, 100 * kUs);
  EXPECT_EQ(timing.of(2).duration, 100 * kUs);
  const double once = prices.decisions.ServeNanoseconds(MiB(64));
  EXPECT_NEAR(static_cast<double>(timing.of(3).duration), 2500.0 * kUs - once, 2);
  // 700 and 500 us more for 64 MiB each.
  EXPECT_NEAR(timing.Passes(0), 1200.0 * kUs / (2 * once), 1e-6);
  EXPECT_TRUE(timing.Proved(0));
}

// A few bytes on the host and some microseconds more: many thousand passes over those bytes, if it
// were told by them.
TEST(Timing, WorkOnAFewRemoteBytesProvesNothing) {
  RecordedRun run = Recorded({{0, 0, 0, 100}, {0, 0, 100, 208}}, {0, 0});
  run.works[1].remote = KiB(128).value;
  const Timing timing(&run, {});
  EXPECT_FALSE(timing.Proved(0));
  EXPECT_LE(timing.Passes(0), 40);
}

// One found some of it in a cache, and one ran beside something.
TEST(Timing, PassesThatNothingProvesGoByTheMedian) {
  RecordedRun run = Recorded({{0, 0, 0, 80}, {0, 0, 80, 150}, {0, 0, 150, 180}}, {0, 0, 0});
  run.works[1].set = run.works[2].set = run.works[0].set;
  const Timing timing(&run, {});
  const double rate = static_cast<double>(MiB(64).value) / 3000;
  for (const uint32_t i : {0, 1, 2}) EXPECT_NEAR(timing.Passes(i), 70.0 * kUs / rate, 1e-6);
  EXPECT_EQ(timing.of(0).duration, 80 * kUs);
}

// By an address of its parameters and in a tensor map, and from somewhere in the middle as well.
TEST(Timing, MemoryThatIsNamedTwiceCountsOnce) {
  RecordedRun run = Recorded({{0, 0, 0, 200}}, {0});
  const double once = Timing(&run, {}).Passes(0);
  const RecordedRange all{.allocation = 0, .size = MiB(64).value};
  RecordedRange behind = all, half = all;
  behind.slot = 32;
  half.offset = half.size = MiB(32).value;
  run.works[0].set = run.AddSet({half, all, behind});
  EXPECT_NEAR(Timing(&run, {}).Passes(0), once, 1e-6);
}

// What is only reckoned would be as fast as its memory.
TEST(Timing, PassesThatNothingProvesGoByWhatWasTimed) {
  RecordedRun run = Recorded({{0, 0, 0, 0}, {0, 0, 0, 200}}, {0, 0});
  run.works[1].set = run.works[0].set;
  const Timing timing(&run, {});
  const double rate = static_cast<double>(MiB(64).value) / 3000;
  for (const uint32_t i : {0, 1}) EXPECT_NEAR(timing.Passes(i), 200.0 * kUs / rate, 1e-6);
}

TEST(Timing, PassesThatNothingProvesGoByTheRate) {
  const RecordedRun run = Recorded({{0, 0, 0, 25}, {0, 0, 25, 225}, {0, 0, 225, 90000}}, {0, 1, 2});
  const Timing timing(&run, {});
  const double rate = static_cast<double>(MiB(64).value) / 3000;
  EXPECT_FALSE(timing.Proved(0));
  EXPECT_NEAR(timing.Passes(0), 25.0 * kUs / rate, 1e-6);
  EXPECT_NEAR(timing.Passes(1), 200.0 * kUs / rate, 1e-6);
  EXPECT_EQ(timing.Passes(2), 40);
}

// That of the device that ran it, whatever card the replay is of.
TEST(Timing, TheRateIsThatOfTheRecordedDevice) {
  RecordedRun run = Recorded({{0, 0, 0, 25}}, {0});
  const double at_3000 = 25.0 * kUs / (static_cast<double>(MiB(64).value) / 3000);
  for (const double rate : {3000.0, 4400.0, 800.0}) {
    run.setting.device_gb_per_s = rate;
    EXPECT_NEAR(Timing(&run, {}).Passes(0), std::max(1.0, at_3000 * rate / 3000), 1e-6);
  }
  for (const double no_rate : {0.0, -1.0, 1e9, std::nan("")}) {
    run.setting.device_gb_per_s = no_rate;
    EXPECT_NEAR(Timing(&run, {}).Passes(0), at_3000, 1e-6);
  }
}

// A gather names its table and reads some of it. Of what a cache may hold it may have read all.
TEST(Timing, WhatTookLessThanTheMemoryNeedsWasNotReadWhole) {
  for (const auto& [named, at_least] : {std::pair(GiB(1), 0.0), {MiB(128), 1.0}}) {
    RecordedRun run;
    run.allocations.push_back({.size = named, .allocated = 0});
    run.steps = {{RecordedStep::Kind::kAllocate, 0}, {RecordedStep::Kind::kWork, 0}};
    run.codes.push_back({.name = "gather"});
    const RecordedRange all{.allocation = 0, .size = named.value};
    run.works.push_back({.end = 20 * kUs, .set = run.AddSet({&all, 1})});
    ASSERT_TRUE(run.Check().ok()) << run.Check();
    const double rate = static_cast<double>(named.value) / 3000;
    EXPECT_NEAR(Timing(&run, {}).Passes(0), std::max(at_least, 20.0 * kUs / rate), 1e-6);
  }
}

TEST(Timing, KernelsThatAreAlikeTellOfEachOther) {
  RecordedRun run = Recorded({{0, 0, 0, 100}, {0, 0, 100, 900}, {0, 0, 900, 1000}}, {0, 1, 2});
  run.works[1].remote = MiB(64).value;
  EXPECT_FALSE(Timing(&run, {}).Proved(0));
  run.codes[1].alike = run.codes[2].alike = 0;
  const ReplayPrices prices;
  const Timing timing(&run, prices);
  EXPECT_EQ(timing.of(1).duration, 100 * kUs);
  for (const uint32_t i : {0, 1, 2}) {
    EXPECT_TRUE(timing.Proved(i));
    EXPECT_NEAR(timing.Passes(i), 700.0 * kUs / prices.decisions.ServeNanoseconds(MiB(64)), 1e-6);
  }
}

TEST(Timing, WhatWasNotTimedIsReckoned) {
  RecordedRun run = Recorded({{0, 0, 0, 0}, {0, 0, 0, 0}});
  const Timing timing(&run, {});
  const double rate = static_cast<double>(MiB(64).value) / 3000;
  EXPECT_NEAR(static_cast<double>(timing.of(1).duration), 5.0 * kUs + rate, 2);
}

// Most of a gap in a run in which memory was moved was the moves' doing.
TEST(Timing, LagsOfARunWithMovesAreShort) {
  RecordedRun run = Recorded({{0, 0, 500, 1000}});
  EXPECT_EQ(Timing(&run, {}).of(0).lag, 500 * kUs);
  run.moves.push_back({.time = 400 * kUs, .duration = 300 * kUs, .size = MiB(64).value});
  EXPECT_EQ(Timing(&run, {}).of(0).lag, 10 * kUs);
}

}  // namespace
}  // namespace vramspan::replay
