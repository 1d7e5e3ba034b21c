#include "runtime/api/argument_sets.h"

#include <gtest/gtest.h>

#include "runtime/api/noisy_runs.h"
#include "runtime/observe/trust_list.h"

namespace vramspan {
namespace {

constexpr uint64_t kNoise = TrustList::kNoise;

// Of launches above noise: each is one of its own, unless a test says otherwise.
uint64_t runs = 0;

// So many launches that show, each with arguments of its own from `first` on.
void AddClean(ArgumentSets* sets, uint64_t first, size_t count) {
  for (size_t i = 0; i < count; ++i)
    sets->Add({.arguments = first + i, .sectors = 10, .shows = true, .run = ++runs});
}

TEST(ArgumentSetsTest, WhatOneLaunchTookIsDoubtful) {
  ArgumentSets sets;
  AddClean(&sets, 0, 15);
  EXPECT_EQ(sets.taken().most, 10u);
  EXPECT_EQ(sets.taken().doubtful, 0u);
  // An equal one took nothing,
  sets.Add({.arguments = 0, .sectors = 519, .shows = true, .run = ++runs});
  sets.Add({.arguments = 0, .sectors = 100, .shows = true, .run = ++runs});
  // or there is no equal one.
  sets.Add({.arguments = 99, .sectors = kNoise, .shows = true, .run = ++runs});
  EXPECT_EQ(sets.clean(), 15u) << "not that of the one alone";
  EXPECT_EQ(sets.taken().most, 10u);
  EXPECT_EQ(sets.taken().doubtful, 3u);
  EXPECT_EQ(sets.taken().doubtful_most, 519u);
}

// What it costs to audit a code does not grow with its launches.
TEST(ArgumentSetsTest, EnoughSetsTellWhatMoreWould) {
  ArgumentSets sets;
  AddClean(&sets, 0, 10);
  EXPECT_TRUE(sets.MayTell(3)) << "of a few launches doubts cannot be told from disturbances";
  AddClean(&sets, 0, 10);
  EXPECT_FALSE(sets.MayTell(3));
  EXPECT_TRUE(sets.MayTell(30));
  sets.Add({.arguments = 30, .sectors = 0, .shows = false, .run = ++runs});
  EXPECT_TRUE(sets.MayTell(30)) << "it has shown nothing yet";
  AddClean(&sets, 100, 60);
  EXPECT_FALSE(sets.MayTell(30));
  sets.Add({.arguments = 3, .sectors = 519, .shows = true, .run = ++runs});
  EXPECT_TRUE(sets.MayTell(3)) << "what is doubtful is looked at again and again";
  EXPECT_TRUE(sets.Doubts(3) && sets.Clean(3));
  EXPECT_FALSE(sets.Doubts(4));
  sets.Add({.arguments = 4, .sectors = ArgumentSets::kLittle, .shows = true, .run = ++runs});
  EXPECT_FALSE(sets.MayTell(3)) << "it has missed";
}

// Launches that were asked about arrays may have missed all the same.
TEST(ArgumentSetsTest, WhatWasTakenBesideArraysIsDoubtedUnlessEqualLaunchesWereClean) {
  ArgumentSets sets, arrays;
  AddClean(&sets, 0, 100);
  for (const uint64_t arguments : {5, 6}) {
    for (uint64_t i = 0; i < 3; ++i)
      arrays.Add({.arguments = arguments, .sectors = 10'000, .shows = true, .run = ++runs});
  }
  ArgumentSets all = sets;
  all.AddDoubts(arrays);
  EXPECT_EQ(all.taken().most, 10u) << "they went beyond arrays, and no further";
  for (int i = 0; i < 3; ++i)
    arrays.Add({.arguments = 500, .sectors = 20'000, .shows = true, .run = ++runs});
  AddClean(&arrays, 600, 5);
  all = sets;
  all.AddDoubts(arrays);
  EXPECT_EQ(all.taken().most, 20'000u);
  EXPECT_EQ(all.clean(), 100u);
}

TEST(ArgumentSetsTest, WhatAllEqualLaunchesTookIsAMiss) {
  ArgumentSets sets;
  AddClean(&sets, 0, 1000);
  sets.Add({.arguments = 5000, .sectors = 90, .shows = true, .run = ++runs});
  EXPECT_EQ(sets.taken().most, 10u);
  sets.Add({.arguments = 5000, .sectors = 91, .shows = true, .run = ++runs});
  EXPECT_EQ(sets.taken().most, 91u);
  EXPECT_EQ(sets.taken().doubtful, 0u);
  sets.Add({.arguments = 5000, .sectors = 0, .shows = true, .run = ++runs});
  EXPECT_EQ(sets.taken().most, 10u);
  EXPECT_EQ(sets.taken().doubtful, 2u);
}

// One disturbance may last for several launches.
TEST(ArgumentSetsTest, EqualLaunchesThatWereCountedOneAfterTheOtherDoNotBearEachOtherOut) {
  ArgumentSets sets;
  AddClean(&sets, 0, 100);
  sets.Add({.arguments = 500, .sectors = 266, .shows = true, .run = ++runs});
  sets.Add({.arguments = 500, .sectors = 266, .shows = true, .run = runs});
  EXPECT_EQ(sets.taken().most, 10u);
  EXPECT_EQ(sets.taken().doubtful, 2u);
  ArgumentSets all;
  all.AddDoubts(sets);
  EXPECT_EQ(all.taken().doubtful, 2u);
  sets.Add({.arguments = 500, .sectors = 266, .shows = true, .run = ++runs});
  EXPECT_EQ(sets.taken().most, 266u);
}

TEST(ArgumentSetsTest, EnoughThatWereGivenTheSameContradictOne) {
  ArgumentSets sets;
  for (uint64_t i = 0; i < kEnoughAlike - 1; ++i) {
    sets.Add({.arguments = i, .given = 7, .sectors = 10, .shows = true, .run = ++runs});
  }
  sets.Add({.arguments = 50, .given = 7, .sectors = 390, .shows = true, .run = ++runs});
  sets.Add({.arguments = 60, .given = 8, .sectors = 390, .shows = true, .run = ++runs});
  EXPECT_EQ(sets.taken().doubtful, 2u);
  EXPECT_EQ(sets.taken().contradicted, 0u);
  sets.Add({.arguments = 70, .given = 7, .sectors = 10, .shows = false, .run = ++runs});
  EXPECT_EQ(sets.taken().contradicted, 0u) << "it shows nothing";
  sets.Add({.arguments = 70, .given = 7, .sectors = 10, .shows = true, .run = ++runs});
  EXPECT_EQ(sets.taken().doubtful, 2u);
  EXPECT_EQ(sets.taken().contradicted, 1u) << "not the one that was given something else";
}

// Another launch was hit just before, each time; but they are no one disturbance.
TEST(ArgumentSetsTest, EachRunCountsThoughAnotherLaunchBeganIt) {
  ArgumentSets sets;
  AddClean(&sets, 0, 320);
  for (int i = 0; i < 2; ++i) {
    sets.Add({.arguments = 500, .sectors = 300, .shows = true, .run = ++runs});
  }
  EXPECT_EQ(sets.taken().most, 300u);
}

TEST(ArgumentSetsTest, EqualLaunchesContradictOneAndOthersOnlyIfTheirPointersDiffer) {
  ArgumentSets equal, same_pointers;
  for (uint64_t i = 0; i < kEnoughAlike; ++i) {
    equal.Add({.arguments = 1, .given = 7, .sectors = 10, .shows = true});
    same_pointers.Add({.arguments = i % 2, .given = 7, .sectors = 10, .shows = true});
  }
  for (ArgumentSets* sets : {&equal, &same_pointers}) {
    sets->Add({.arguments = sets == &equal ? 1u : 9u,
               .given = 7,
               .sectors = 390,
               .shows = true,
               .run = ++runs});
  }
  EXPECT_EQ(equal.taken().contradicted, 1u);
  EXPECT_EQ(same_pointers.taken().contradicted, 0u) << "of two sets";
  same_pointers.Add({.arguments = 2, .given = 7, .sectors = 10, .shows = true});
  EXPECT_EQ(same_pointers.taken().contradicted, 1u);
  // Another shape, and the same parameters.
  same_pointers.Add({.arguments = 9, .given = 8, .sectors = 390, .shows = true, .run = runs});
  EXPECT_EQ(same_pointers.taken().contradicted, 0u);
}

TEST(NoisyRunsTest, ARunEndsWithAPauseOrALaunchThatTookNothing) {
  NoisyRuns noisy;
  const Instant begin(std::chrono::seconds(5));
  EXPECT_EQ(noisy.Of(1, begin), 1u);
  EXPECT_EQ(noisy.Of(2, begin + NoisyRuns::kApart), 1u);
  EXPECT_EQ(noisy.Of(4, begin + NoisyRuns::kApart), 2u);
  EXPECT_EQ(noisy.Of(5, begin + 2 * NoisyRuns::kApart + Duration(1)), 3u);
}

TEST(ArgumentSetsTest, MuchIsAMissThoughEqualLaunchesTookNothing) {
  ArgumentSets sets;
  for (int i = 0; i < 1000; ++i)
    sets.Add({.arguments = 1, .sectors = 0, .shows = true, .run = ++runs});
  sets.Add({.arguments = 1, .sectors = ArgumentSets::kLittle, .shows = true, .run = ++runs});
  EXPECT_EQ(sets.taken().most, ArgumentSets::kLittle);
}

// Its memory was on the device: nothing could show.
TEST(ArgumentSetsTest, ALaunchThatShowsNothingExcusesNone) {
  ArgumentSets sets;
  for (int i = 0; i < 100; ++i)
    sets.Add({.arguments = 1, .sectors = 0, .shows = false, .run = ++runs});
  for (int i = 0; i < 2; ++i)
    sets.Add({.arguments = 1, .sectors = kNoise, .shows = true, .run = ++runs});
  EXPECT_EQ(sets.clean(), 0u);
  EXPECT_EQ(sets.taken().most, kNoise);
  // What it took is a miss all the same.
  for (int i = 0; i < 2; ++i)
    sets.Add({.arguments = 2, .sectors = 2 * kNoise, .shows = false, .run = ++runs});
  EXPECT_EQ(sets.taken().most, 2 * kNoise);
}

TEST(ArgumentSetsTest, BeyondSoManySetsEachLaunchIsAloneInItsOwn) {
  ArgumentSets sets;
  AddClean(&sets, 0, ArgumentSets::kMost);
  for (uint64_t i = 0; i < 3; ++i)
    sets.Add({.arguments = ArgumentSets::kMost, .sectors = 100 + i, .shows = true, .run = ++runs});
  EXPECT_EQ(sets.clean(), ArgumentSets::kMost);
  EXPECT_EQ(sets.taken().most, 10u);
  EXPECT_EQ(sets.taken().doubtful, 3u);
  EXPECT_EQ(sets.taken().doubtful_most, 102u);
  sets.Add({.arguments = ArgumentSets::kMost,
            .sectors = ArgumentSets::kLittle,
            .shows = true,
            .run = ++runs});
  EXPECT_EQ(sets.taken().most, ArgumentSets::kLittle);
}

TEST(ArgumentSetsTest, OfFewLaunchesNoneIsADisturbance) {
  EXPECT_EQ(Disturbances(kEnoughToTell - 1), 0u);
  EXPECT_EQ(Disturbances(kEnoughToTell), 1u);
  EXPECT_EQ(Disturbances(64), 3u);
}

// Code that is always given the same says something of what it is given.
TEST(ArgumentSetsTest, LaunchesThatShowAreCountedByWhatTheyAreGiven) {
  ArgumentSets sets;
  for (uint64_t i = 0; i < 6; ++i)
    sets.Add({.arguments = i % 2, .given = 7, .sectors = 10, .shows = true, .run = ++runs});
  sets.Add({.arguments = 0, .given = 7, .sectors = 10, .shows = false, .run = ++runs});
  sets.Add({.arguments = 0, .given = 7, .sectors = kNoise, .shows = true, .run = ++runs});
  sets.Add({.arguments = 0, .given = 8, .sectors = 10, .shows = true, .run = ++runs});
  ASSERT_EQ(sets.given().size(), 2u);
  EXPECT_EQ(sets.given()[0].given, 7u);
  EXPECT_EQ(sets.given()[0].launches, 6u) << "only those that show, and took nothing";
  EXPECT_EQ(sets.given()[1].launches, 1u);
  for (uint64_t i = 0; i < 100; ++i)
    sets.Add({.arguments = i, .given = 100 + i, .sectors = 10, .shows = true, .run = ++runs});
  EXPECT_EQ(sets.given().size(), ArgumentSets::kMostGiven);
}

}  // namespace
}  // namespace vramspan
