// What launches teach, and what is hot: decisions from made-up launches.
#include "runtime/placement/kernel_history.h"

#include <gtest/gtest.h>

#include <utility>

#include "runtime/placement/heat.h"

namespace vramspan {
namespace {

using Verdict = KernelHistory::Verdict;

constexpr uint64_t kKernel = 17;
constexpr uint16_t kSlot = 8;
const Bytes kTouched = MiB(256);
const Bytes kChunk = MiB(16);

class History : public testing::Test {
 protected:
  // A launch that takes `resident` and reads each remote byte `passes` times.
  void Launch(double resident, Bytes remote, double passes, uint64_t kernel = kKernel,
              uint16_t slot = kSlot) {
    history_.Record({.kernel = kernel,
                     .slot = slot,
                     .touched = kTouched,
                     .remote = remote,
                     .nanoseconds = static_cast<uint64_t>(
                         resident + passes * prices_.ServeNanoseconds(remote))});
  }
  Verdict For(Bytes remote, uint64_t kernel = kKernel) {
    return history_.For(kernel, kSlot, {remote, remote});
  }
  // Where little of a chunk of 64 MiB is named.
  Verdict ForPart(Bytes named) { return history_.For(kKernel, kSlot, {named, MiB(64)}); }

  const Prices prices_{};
  KernelHistory history_{prices_};
};

// A figure that seldom changes: a queue in which it does is looked at anew.
TEST_F(History, ExpectsWhatWasSeenByAndLarge) {
  const uint64_t unknown = history_.Expected(kKernel);
  EXPECT_LT(unknown, 10'000u);
  Launch(3e6, kChunk, 1);
  EXPECT_EQ(history_.Expected(kKernel), unknown) << "never seen with all its memory there";
  for (const double nanoseconds : {1.0e6, 1.02e6, 0.99e6, 1.01e6}) Launch(nanoseconds, Bytes(0), 0);
  const uint64_t expected = history_.Expected(kKernel);
  EXPECT_GE(expected, 700'000u);
  EXPECT_LE(expected, 1'000'000u);
  Launch(1.05e6, Bytes(0), 0);
  EXPECT_EQ(history_.Expected(kKernel), expected);
  EXPECT_EQ(history_.Expected(kKernel + 1), unknown);
}

// Whoever has asked need not ask again before that.
TEST_F(History, TellsWhetherWhatItExpectsHasChanged) {
  uint64_t expected = history_.Expected(kKernel), changes = history_.expected_changes();
  for (int i = 0; i < 200; ++i) {
    Launch(i < 100 ? 1e6 : 1e5, i % 3 == 0 ? kChunk : Bytes(0), 1);
    EXPECT_EQ(history_.Expected(kKernel) != expected, history_.expected_changes() != changes) << i;
    expected = history_.Expected(kKernel);
    changes = history_.expected_changes();
  }
  EXPECT_GE(changes, 2u);
  // A kernel that is forgotten is not expected to take long any more.
  for (uint64_t k = 1; k <= KernelHistory::kMost; ++k) Launch(1e6, kChunk, 1, kKernel + k);
  EXPECT_NE(history_.Expected(kKernel), expected);
  EXPECT_NE(history_.expected_changes(), changes);
}

TEST_F(History, UnknownKernelsHaveTheirMemoryMoved) {
  EXPECT_EQ(For(kChunk), Verdict::kMove);
  Launch(1e5, Bytes(0), 0);
  EXPECT_EQ(For(kChunk), Verdict::kMove);
}

TEST_F(History, TriesOnceTheResidentTimeIsKnown) {
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(history_.KnowsResident(kKernel));
    EXPECT_EQ(For(kChunk), Verdict::kMove);
    Launch(1e5, Bytes(0), 0);
  }
  EXPECT_TRUE(history_.KnowsResident(kKernel));
  EXPECT_EQ(history_.expected_changes(), 1);
  EXPECT_FALSE(history_.KnowsResident(kKernel + 1));
  EXPECT_EQ(For(kChunk), Verdict::kTry);
}

// As the first launch of a kernel that is loaded only then.
TEST_F(History, OneSlowLaunchOfTheFirstDoesNotCount) {
  for (const double nanoseconds : {5e6, 1e5, 1e5}) Launch(nanoseconds, Bytes(0), 0);
  EXPECT_EQ(For(kChunk), Verdict::kTry);
}

// Each byte counts once: at 3 TB/s this one gets through 1.3 of them.
TEST_F(History, WhatReadsAndWritesAtTheMemorysRateIsTried) {
  for (int i = 0; i < 3; ++i) Launch(2.05e5, Bytes(0), 0);
  EXPECT_EQ(For(kChunk), Verdict::kTry);
}

// Slower than its memory by far: it does more than read it once.
TEST_F(History, ComputeBoundKernelsAreNotTried) {
  for (int i = 0; i < 3; ++i) Launch(3e6, Bytes(0), 0);
  EXPECT_EQ(For(kChunk), Verdict::kMove);
}

TEST_F(History, SaysHowLongALaunchMayTake) {
  LaunchSample sample{.kernel = kKernel, .slot = kSlot, .touched = kTouched};
  EXPECT_EQ(history_.MayTake(sample), 0u);
  for (int i = 0; i < 3; ++i) Launch(1e5, Bytes(0), 0);
  EXPECT_EQ(history_.MayTake(sample), 200'000u);
  sample.remote = kChunk;
  EXPECT_GT(history_.MayTake(sample), 100 * prices_.ServeNanoseconds(kChunk));
  Launch(1e5, kChunk, 1);
  EXPECT_LT(history_.MayTake(sample), 4 * prices_.ServeNanoseconds(kChunk));
}

TEST_F(History, StreamingIsServedInPlace) {
  for (int i = 0; i < 3; ++i) Launch(1e5, Bytes(0), 0);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(For(kChunk), Verdict::kTry);
    EXPECT_EQ(history_.changes(), 1u) << "since it is known how long the kernel takes";
    Launch(1e5, kChunk, 1.0);
  }
  EXPECT_EQ(history_.changes(), 2u);
  EXPECT_EQ(For(kChunk), Verdict::kServe);
  EXPECT_EQ(For(kTouched), Verdict::kServe);
}

// Another argument lay there as well, and what that adds is known.
TEST_F(History, WhatOthersAddIsNotTheArguments) {
  for (int i = 0; i < 3; ++i) Launch(1e5, Bytes(0), 0);
  const double once = prices_.ServeNanoseconds(kChunk);
  const auto beside = [&](double passes, double others) {
    history_.Record({.kernel = kKernel,
                     .slot = kSlot,
                     .touched = kTouched,
                     .remote = kChunk + kChunk,
                     .apart = kChunk,
                     .apart_nanoseconds = static_cast<uint64_t>(others * once),
                     .nanoseconds = static_cast<uint64_t>(1e5 + (passes + others) * once)});
  };
  beside(1, 1.2);
  beside(1, 1.2);
  EXPECT_EQ(For(kChunk), Verdict::kServe);
  EXPECT_NEAR(*history_.Passes(kKernel, kSlot, kChunk), 1, 0.01);
  for (int i = 0; i < 8; ++i) beside(8, 1);
  EXPECT_EQ(For(kChunk), Verdict::kMove);
}

TEST_F(History, ALaunchThatTookLessThanTheOthersAddIsNoSample) {
  for (int i = 0; i < 3; ++i) Launch(1e5, Bytes(0), 0);
  LaunchSample sample{.kernel = kKernel,
                      .slot = kSlot,
                      .touched = kTouched,
                      .remote = kChunk + kChunk,
                      .apart = kChunk,
                      .apart_nanoseconds = 1'000'000,
                      .nanoseconds = 200'000};
  for (int i = 0; i < 3; ++i) history_.Record(sample);
  EXPECT_EQ(For(kChunk), Verdict::kTry);
  // What they add is part of what the launch may take.
  EXPECT_GT(history_.MayTake(sample), 2'000'000u);
}

// Where the link copies at its full rate both ways, a move is as cheap as reading once; what reads
// once is served all the same, as slow as copies beside it may make it look.
TEST(HistoryOfAFullDuplexLink, StreamingBesideCopiesIsServedInPlace) {
  for (const auto& [passes, verdict] :
       {std::pair{1.15, Verdict::kServe}, std::pair{1.37, Verdict::kServe},
        std::pair{1.6, Verdict::kMove}}) {
    const Prices prices{.serve_gb_per_s = 49.2, .move_gb_per_s = 45.4};
    KernelHistory history(prices);
    for (int i = 0; i < 8; ++i) {
      const Bytes remote = i < 4 ? Bytes(0) : kChunk;
      history.Record(
          {.kernel = kKernel,
           .slot = kSlot,
           .touched = kTouched,
           .remote = remote,
           .nanoseconds = static_cast<uint64_t>(1e5 + passes * prices.ServeNanoseconds(remote))});
    }
    EXPECT_EQ(history.For(kKernel, kSlot, {kChunk, kChunk}), verdict) << passes;
  }
}

// As an array of 16 KiB whose chunk would cross the bus for it.
TEST_F(History, LittleOfAChunkMayBeReadOftenBeforeItIsWorthAMove) {
  for (int i = 0; i < 3; ++i) Launch(1e5, Bytes(0), 0);
  for (int i = 0; i < 3; ++i) Launch(1e5, MiB(4), 8);
  EXPECT_EQ(For(MiB(4)), Verdict::kMove);
  EXPECT_EQ(ForPart(MiB(4)), Verdict::kServe);
  EXPECT_EQ(ForPart(MiB(16)), Verdict::kMove) << "8 passes over a quarter take longer than a move";
}

// What its launch may have taken for other reasons is told by how late its end was seen.
TEST_F(History, LittleOfALargeArgumentSaysNothingOfAllOfIt) {
  for (int i = 0; i < 3; ++i) Launch(1e5, Bytes(0), 0);
  LaunchSample sample{.kernel = kKernel,
                      .slot = kSlot,
                      .touched = kTouched,
                      .remote = KiB(8),
                      .argument = MiB(200),
                      .moved = MiB(2),
                      .nanoseconds = 110'000,
                      .unsure = 7'000};
  for (int i = 0; i < 3; ++i) history_.Record(sample);
  EXPECT_EQ(history_.Passes(kKernel, kSlot, KiB(8)), std::nullopt);
  EXPECT_EQ(For(kChunk), Verdict::kTry);
  sample.argument = KiB(8);
  history_.Record(sample);
  EXPECT_GT(history_.Passes(kKernel, kSlot, KiB(8)).value_or(0), 50);
}

TEST_F(History, WhatIsWithinTheLookIsNoCost) {
  for (int i = 0; i < 3; ++i) Launch(1e5, Bytes(0), 0);
  history_.Record({.kernel = kKernel,
                   .slot = kSlot,
                   .touched = kTouched,
                   .remote = KiB(8),
                   .nanoseconds = 110'000,
                   .unsure = 20'000});
  EXPECT_LE(history_.Passes(kKernel, kSlot, KiB(8)).value_or(9), 1);
}

// Two trials of which the middle of three need not be either.
TEST_F(History, TrialsAgreeByWhatTheMoveCosts) {
  for (int i = 0; i < 3; ++i) Launch(1e5, Bytes(0), 0);
  Launch(1e5, MiB(4), 3);
  Launch(1e5, MiB(4), 60);
  EXPECT_EQ(ForPart(MiB(4)), Verdict::kTry);
  const uint64_t changes = history_.changes();
  history_.Record(
      {.kernel = kKernel,
       .slot = kSlot,
       .touched = kTouched,
       .remote = MiB(4),
       .moved = MiB(64),
       .nanoseconds = static_cast<uint64_t>(1e5 + 8 * prices_.ServeNanoseconds(MiB(4)))});
  EXPECT_EQ(ForPart(MiB(4)), Verdict::kServe);
  EXPECT_GT(history_.changes(), changes);
}

TEST_F(History, WantsSamplesUntilItKnowsAndNotForEver) {
  int wanted = 0;
  while (wanted < 100 && history_.WantsSample(kKernel, kSlot, kChunk)) ++wanted;
  EXPECT_EQ(wanted, KernelHistory::kMostWanted);
  for (int i = 0; i < 3; ++i) Launch(1e5, Bytes(0), 0, kKernel + 1);
  EXPECT_TRUE(history_.WantsSample(kKernel + 1, kSlot, kChunk));
  for (int i = 0; i < 2; ++i) Launch(1e5, kChunk, 1, kKernel + 1);
  EXPECT_FALSE(history_.WantsSample(kKernel + 1, kSlot, kChunk));
}

// The bus is about a hundred times slower than what the kernel may have read from: whatever it does
// is over before a move would be.
TEST_F(History, ShortLaunchesAreServedUntried) {
  for (int i = 0; i < 2; ++i) Launch(1e4, Bytes(0), 0);
  EXPECT_EQ(ForPart(MiB(4)), Verdict::kMove) << "how long it takes is not known yet";
  Launch(1e4, Bytes(0), 0);
  EXPECT_EQ(ForPart(MiB(4)), Verdict::kServe);
  EXPECT_EQ(For(MiB(4)), Verdict::kTry) << "a small chunk is moved sooner";
}

// A trial beside copies, or one whose launch came late, is told from the others. Two that say the
// same need no third.
TEST_F(History, OneSlowTrialOfThreeDoesNotCount) {
  for (int slow = 0; slow < KernelHistory::kTrials; ++slow) {
    const uint64_t kernel = kKernel + static_cast<uint64_t>(slow);
    for (int i = 0; i < 3; ++i) Launch(1e5, Bytes(0), 0, kernel);
    for (int i = 0; i < KernelHistory::kTrials; ++i) {
      EXPECT_EQ(For(kChunk, kernel) == Verdict::kTry, i < 2 || slow != 2) << i << " " << slow;
      Launch(1e5, kChunk, i == slow ? 3 : 1 + 0.1 * i, kernel);
    }
    EXPECT_EQ(For(kChunk, kernel), Verdict::kServe) << slow;
    EXPECT_LT(history_.Passes(kernel, kSlot, kChunk).value_or(9), 1.3) << slow;
  }
}

TEST_F(History, ReReadingIsMoved) {
  for (int i = 0; i < 3; ++i) Launch(6e6, Bytes(0), 0);
  for (int i = 0; i < KernelHistory::kTrials; ++i) Launch(6e6, kChunk, 79);
  EXPECT_EQ(For(kChunk), Verdict::kMove);
  EXPECT_EQ(For(GiB(2)), Verdict::kMove);
}

TEST_F(History, OneDearTrialIsEnough) {
  for (int i = 0; i < 3; ++i) Launch(6e6, Bytes(0), 0);
  EXPECT_EQ(history_.Passes(kKernel, kSlot, kChunk), std::nullopt);
  Launch(6e6, kChunk, 79);
  EXPECT_EQ(For(kChunk), Verdict::kMove);
  EXPECT_NEAR(history_.Passes(kKernel, kSlot, kChunk).value_or(0), 79, 0.1);
}

TEST_F(History, WideAccessIsJudgedByItself) {
  for (int i = 0; i < 3; ++i) Launch(1e5, Bytes(0), 0);
  for (int i = 0; i < KernelHistory::kTrials; ++i) Launch(1e5, kChunk, 1.0);
  EXPECT_EQ(For(GiB(2)), Verdict::kServe);  // To see what it costs.
  for (int i = 0; i < KernelHistory::kTrials; ++i) Launch(1e5, GiB(2), 30);
  EXPECT_EQ(For(GiB(2)), Verdict::kMove);
  EXPECT_EQ(For(kChunk), Verdict::kServe);
}

// Memory that never fits as a whole: no resident time, but no kernel is faster than its memory.
TEST_F(History, NeverResidentKernelsAreJudgedByTheDevicesRate) {
  const double device = static_cast<double>((kTouched - kChunk).value) / prices_.device_gb_per_s;
  for (int i = 0; i < KernelHistory::kTrials; ++i) Launch(device, kChunk, 1.0);
  EXPECT_EQ(For(kChunk), Verdict::kServe);
}

// What is lost in the kernel's own time is not told from its noise.
TEST_F(History, PartsTooSmallToSeeAreCheap) {
  for (int i = 0; i < 3; ++i) Launch(1e9, Bytes(0), 0);
  for (int i = 0; i < KernelHistory::kTrials; ++i) Launch(1.005e9, kChunk, 1.0);
  EXPECT_EQ(For(kChunk), Verdict::kServe);
}

// A matrix product that re-reads a little of its memory so often that it shows.
TEST_F(History, SmallPartsThatShowAreNot) {
  for (int i = 0; i < 3; ++i) Launch(3e6, Bytes(0), 0);
  for (int i = 0; i < 3; ++i) Launch(3e6, MiB(2), 79);
  EXPECT_EQ(For(MiB(112)), Verdict::kMove);
  // Parts that do not show teach nothing new.
  for (int i = 0; i < 20; ++i) Launch(3e6, KiB(4), 79);
  EXPECT_EQ(For(MiB(112)), Verdict::kMove);
}

TEST_F(History, SlowResidentLaunchesDoNotRaiseTheResidentTimeAtOnce) {
  for (int i = 0; i < 5; ++i) Launch(1e5, Bytes(0), 0);
  Launch(50e6, Bytes(0), 0);  // Something ran beside it.
  for (int i = 0; i < KernelHistory::kTrials; ++i) Launch(1e5, MiB(128), 10);
  EXPECT_EQ(For(MiB(128)), Verdict::kMove);
}

TEST_F(History, SeveralRemoteArgumentsTeachNothing) {
  for (int i = 0; i < 3; ++i) Launch(1e5, Bytes(0), 0);
  for (int i = 0; i < 9; ++i) Launch(1e5, kChunk, 79, kKernel, LaunchSample::kSeveral);
  EXPECT_EQ(For(kChunk), Verdict::kTry);
}

TEST_F(History, IsBoundedAndForgetsTheLeastRecentlyLaunched) {
  for (uint64_t kernel = 1; kernel <= KernelHistory::kMost; ++kernel) {
    for (int i = 0; i < 3; ++i) Launch(1e5, Bytes(0), 0, kernel);
  }
  EXPECT_EQ(For(kChunk, 1), Verdict::kTry);  // Used: it is the youngest again.
  Launch(1e5, Bytes(0), 0, 1'000'000);
  EXPECT_EQ(history_.size(), KernelHistory::kMost);
  EXPECT_EQ(For(kChunk, 1), Verdict::kTry);
  EXPECT_EQ(For(kChunk, 2), Verdict::kMove);
}

TEST_F(History, TakesWhatItIsTaughtForTried) {
  history_.Teach(kKernel, 1, 100'000);
  EXPECT_EQ(For(kChunk), Verdict::kServe);
  EXPECT_TRUE(history_.KnowsResident(kKernel));
  history_.Teach(kKernel + 1, 79, 100'000);
  EXPECT_EQ(For(kChunk, kKernel + 1), Verdict::kMove);
}

TEST_F(History, BelievesWhatItSeesMoreThanWhatItIsTaught) {
  for (int i = 0; i < 3; ++i) Launch(1e5, Bytes(0), 0);
  for (int i = 0; i < KernelHistory::kTrials; ++i) Launch(1e5, kChunk, 79);
  history_.Teach(kKernel, 0.5, 1);
  EXPECT_EQ(For(kChunk), Verdict::kMove);
  history_.Teach(kKernel + 1, 0.5, 100'000);
  EXPECT_EQ(For(kChunk, kKernel + 1), Verdict::kServe);
  for (int i = 0; i < 20; ++i) Launch(1e5, kChunk, 79, kKernel + 1);
  EXPECT_EQ(For(kChunk, kKernel + 1), Verdict::kMove);
}

// What was proved in one process holds in the next, and nothing is tried again.
TEST_F(History, ComesBackFromItsFacts) {
  for (int i = 0; i < 3; ++i) Launch(1e5, Bytes(0), 0);
  for (int i = 0; i < KernelHistory::kTrials; ++i) Launch(1e5, kChunk, 1);
  Launch(1e5, kChunk, 79, kKernel, /*slot=*/16);
  Launch(1e6, Bytes(0), 0, kKernel + 1);  // Which may have loaded it: that says nothing.
  const auto facts = history_.Facts();
  ASSERT_EQ(facts.size(), 1u);
  EXPECT_EQ(facts[0].kernel, kKernel);
  KernelHistory next(prices_);
  next.Know(5, facts[0].facts.resident_ns, facts[0].facts.touched);
  for (const ArgumentPrice& price : facts[0].facts.arguments) next.KnowArgument(5, price);
  EXPECT_EQ(next.For(5, kSlot, {kChunk, kChunk}), Verdict::kServe);
  EXPECT_EQ(next.For(5, 16, {kChunk, kChunk}), Verdict::kMove);
  EXPECT_EQ(next.For(5, 24, {kChunk, kChunk}), Verdict::kTry) << "nothing is known of it";
  EXPECT_EQ(next.Expected(5), history_.Expected(kKernel));
  const auto again = next.Facts();
  ASSERT_EQ(again.size(), 1u);
  ASSERT_EQ(again[0].facts.arguments.size(), 2u);
  EXPECT_FALSE(facts[0].facts.resident_told);
  EXPECT_TRUE(again[0].facts.resident_told);
  for (size_t i = 0; i < 2; ++i) {
    ArgumentPrice told = facts[0].facts.arguments[i];
    EXPECT_FALSE(told.told);
    told.told = true;
    EXPECT_EQ(again[0].facts.arguments[i], told);
  }
}

// Where two launches disagree it is to be seen what a third one says.
TEST_F(History, TakesADoubtfulFactForOneTrial) {
  for (int i = 0; i < 3; ++i) Launch(1e5, Bytes(0), 0);
  Launch(1e5, kChunk, 0.5);
  Launch(1e5, kChunk, 2.5);
  const auto facts = history_.Facts();
  ASSERT_EQ(facts.at(0).facts.arguments.size(), 1u);
  EXPECT_FALSE(facts[0].facts.arguments[0].sure);
  KernelHistory next(prices_);
  next.Know(5, facts[0].facts.resident_ns, facts[0].facts.touched);
  next.KnowArgument(5, facts[0].facts.arguments[0]);
  EXPECT_EQ(next.For(5, kSlot, {kChunk, kChunk}), Verdict::kTry);
}

TEST_F(History, BelievesWhatItSeesMoreThanAnEarlierRun) {
  for (int i = 0; i < 3; ++i) Launch(1e5, Bytes(0), 0);
  for (int i = 0; i < KernelHistory::kTrials; ++i) Launch(1e5, kChunk, 79);
  history_.Know(kKernel, 1, kTouched);
  history_.KnowArgument(kKernel, {.slot = kSlot, .sure = true, .passes = 0});
  EXPECT_EQ(For(kChunk), Verdict::kMove);
  history_.Know(kKernel + 1, 100'000, kTouched);
  history_.KnowArgument(kKernel + 1, {.slot = kSlot, .sure = true, .passes = 0});
  EXPECT_EQ(For(kChunk, kKernel + 1), Verdict::kServe);
  for (int i = 0; i < 20; ++i) Launch(1e5, kChunk, 79, kKernel + 1);
  EXPECT_EQ(For(kChunk, kKernel + 1), Verdict::kMove);
  EXPECT_FALSE(history_.Facts().at(0).facts.arguments.at(0).told);
}

// As where the same kernel did a thousand times as much: too long a time hides what lies apart.
TEST_F(History, ALaunchFasterThanAnEarlierRunSaysDisprovesIt) {
  history_.Know(kKernel, 50'000'000, kTouched);
  EXPECT_FALSE(history_.KnowsResident(kKernel)) << "launches are timed all the same";
  const uint64_t expected = history_.Expected(kKernel);
  for (int i = 0; i < KernelHistory::kTrials; ++i) Launch(1e5, kChunk, 79);
  EXPECT_EQ(For(kChunk), Verdict::kMove);
  EXPECT_GT(history_.Passes(kKernel, kSlot, kChunk).value_or(0), 70);
  EXPECT_LT(history_.Expected(kKernel), expected);
  const KernelFacts facts = history_.Facts().at(0).facts;
  EXPECT_EQ(facts.resident_ns, 0u);
  EXPECT_FALSE(facts.resident_told);
  // Where nothing else is known of it, that is said as well.
  history_.Know(5, 50'000'000, kTouched);
  Launch(1e5, kChunk, 1, 5, LaunchSample::kSeveral);
  EXPECT_EQ(history_.Facts().at(0).kernel, 5u);
}

TEST_F(History, SeenOftenEnoughATimeReplacesWhatAnEarlierRunSays) {
  for (const uint64_t told : {10'000, 10'000'000}) {
    const uint64_t kernel = kKernel + told;
    history_.Know(kernel, told, kTouched);
    for (int i = 0; i < 3; ++i) {
      EXPECT_FALSE(history_.KnowsResident(kernel));
      EXPECT_TRUE(history_.Facts().at(0).facts.resident_told);
      Launch(1e5, Bytes(0), 0, kernel);
      if (i < 2) {
        EXPECT_EQ(history_.Facts().at(0).facts.resident_ns, std::min<uint64_t>(told, 100'000));
      }
    }
    EXPECT_TRUE(history_.KnowsResident(kernel));
    EXPECT_FALSE(history_.Facts().at(0).facts.resident_told);
    EXPECT_EQ(history_.Facts().at(0).facts.resident_ns, 100'000u);
  }
}

// Each run loads the kernel anew, whatever is known of it.
TEST_F(History, LoadingAKernelDoesNotRaiseWhatIsKeptFromRunToRun) {
  uint64_t kept = 10'000;
  for (int run = 0; run < 5; ++run) {
    KernelHistory history(prices_);
    history.Know(kKernel, kept, kTouched);
    for (const uint64_t nanoseconds : {10'000'000, 10'000, 10'000, 10'000}) {
      history.Record({.kernel = kKernel, .touched = kTouched, .nanoseconds = nanoseconds});
    }
    kept = history.Facts().at(0).facts.resident_ns;
  }
  EXPECT_EQ(kept, 10'000u);
}

// A wrong one would else be served so for ever.
TEST_F(History, WhatAnEarlierRunSaysIsToBeSeenOnce) {
  for (int i = 0; i < 3; ++i) Launch(1e5, Bytes(0), 0);
  history_.KnowArgument(kKernel, {.slot = kSlot, .sure = true, .passes = 1});
  EXPECT_EQ(For(kChunk), Verdict::kServe);
  EXPECT_TRUE(history_.WantsSample(kKernel, kSlot, kChunk));
  Launch(1e5, kChunk, 1.1);
  EXPECT_FALSE(history_.WantsSample(kKernel, kSlot, kChunk)) << "they agree";
  EXPECT_EQ(For(kChunk), Verdict::kServe);
  history_.KnowArgument(kKernel, {.slot = kSlot + 1, .sure = true, .passes = 1});
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(history_.WantsSample(kKernel, kSlot + 1, kChunk));
    Launch(1e5, kChunk, 79, kKernel, kSlot + 1);
  }
  EXPECT_EQ(history_.For(kKernel, kSlot + 1, {kChunk, kChunk}), Verdict::kMove);
}

TEST_F(History, TheUsersOwnProfileComesBeforeAnEarlierRun) {
  history_.Teach(kKernel, 79, 100'000);
  history_.Know(kKernel, 1'000, kTouched);
  for (const bool wide : {false, true}) {
    history_.KnowArgument(kKernel, {.slot = kSlot, .wide = wide, .sure = true, .passes = 0.5});
  }
  EXPECT_EQ(For(kChunk), Verdict::kMove);
  EXPECT_EQ(For(GiB(2)), Verdict::kMove);
  EXPECT_GE(history_.Expected(kKernel), 50'000u);
  EXPECT_FALSE(history_.WantsSample(kKernel, kSlot, kChunk));
}

TEST_F(History, ManyArgumentsShareTheLastPlace) {
  for (int i = 0; i < 3; ++i) Launch(1e5, Bytes(0), 0);
  for (uint16_t slot = 0; slot < 40; ++slot) Launch(1e5, kChunk, 1, kKernel, slot);
  EXPECT_EQ(history_.size(), 1u);
}

TEST(HeatTest, CountsUsesAndForgetsThem) {
  Heat heat(MiB(64));
  const ChunkIndex a(1), b(2);
  for (int i = 0; i < 4; ++i) heat.Use(a, Bytes(1), Bytes(1));
  EXPECT_NEAR(heat.Of(a), 4, 1e-6);
  EXPECT_EQ(heat.Of(b), 0);
  // One half-life.
  for (int i = 0; i < 4; ++i) heat.Use(b, MiB(64), MiB(64));
  EXPECT_NEAR(heat.Of(a), 2, 1e-3);
  heat.Bar(b);
  EXPECT_EQ(heat.Of(b), 0);
}

TEST(HeatTest, CountsHowMuchOfAChunkIsUsed) {
  Heat heat(MiB(256));
  for (int i = 0; i < 8; ++i) heat.Use(ChunkIndex(1), MiB(4), MiB(64));
  EXPECT_NEAR(heat.Of(ChunkIndex(1)), 0.5, 0.02);
  // And what is used of it makes the others as much older.
  EXPECT_GT(heat.Of(ChunkIndex(1)), 0.48);
}

// A cycle over twice the budget: at no point is one chunk clearly hotter than another.
TEST(HeatTest, CyclesAreEvenlyHot) {
  constexpr uint32_t kChunks = 64;
  Heat heat(MiB(2) * (kChunks / 2));
  for (int pass = 0; pass < 200; ++pass) {
    for (uint32_t i = 1; i <= kChunks; ++i) heat.Use(ChunkIndex(i), MiB(2), MiB(2));
  }
  const double newest = heat.Of(ChunkIndex(kChunks)), oldest = heat.Of(ChunkIndex(1));
  EXPECT_GT(newest, oldest);
  EXPECT_LT(newest, Heat::kClearly * oldest);
}

TEST(HeatTest, LastsThroughManyHalfLives) {
  Heat heat(MiB(1));
  for (int i = 0; i < 100'000; ++i) heat.Use(ChunkIndex(1), MiB(1), MiB(1));
  EXPECT_NEAR(heat.Of(ChunkIndex(1)), 1 / (std::exp2(0.25) - 1), 0.1);
}

}  // namespace
}  // namespace vramspan
