// What a program does again and again.
#include "tools/replay/rounds.h"

#include <gtest/gtest.h>

#include <vector>

namespace vramspan::replay {
namespace {

// Work by work: its code, and which of many arrays it touches. Each ends a millisecond after the
// one before.
class Program {
 public:
  // And weights, which are large, where that is not 0.
  void Work(uint32_t code, uint64_t array, uint64_t weights = 0) {
    std::vector<RecordedRange> ranges = {{.offset = array << 20, .size = MiB(1).value}};
    if (weights != 0) ranges.push_back({.offset = weights << 40, .size = MiB(16).value});
    const uint32_t set = run_.AddSet(ranges);
    run_.works.push_back({.code = code, .set = set});
    ends_.push_back((ends_.empty() ? 0 : ends_.back()) + 1'000'000);
  }
  // As many layers, each a product with weights of its own and something on what comes out.
  void Layers(uint32_t count, uint64_t activations) {
    for (uint32_t i = 0; i < count; ++i) {
      Work(1, i);
      Work(2, activations + i % 2);
    }
  }
  void Once(uint32_t count) {
    for (uint32_t i = 0; i < count; ++i) Work(1000 + once_, 1000 + once_), ++once_;
  }

  Rounds Find() const { return Phases(run_).main(); }
  std::vector<Rounds> FindAll() const {
    const Phases phases(run_);
    return {phases.all().begin(), phases.all().end()};
  }
  uint64_t Repeated() const { return Phases(run_).Repeated(ends_); }
  std::vector<uint64_t>& ends() { return ends_; }

 private:
  RecordedRun run_;
  std::vector<uint64_t> ends_;
  uint32_t once_ = 0;
};

TEST(Rounds, ALoopIsFoundWhateverComesBeforeAndBehindIt) {
  Program p;
  p.Once(70);
  for (int i = 0; i < 12; ++i) p.Layers(24, 100);
  p.Once(40);
  const Rounds rounds = p.Find();
  EXPECT_EQ(rounds.works(), 48u);
  // It may begin within the first.
  EXPECT_GE(rounds.count(), 11u);
  EXPECT_LE(rounds.count(), 12u);
  for (size_t i = 1; i < rounds.count(); ++i) {
    EXPECT_EQ(rounds.begins()[i] - rounds.begins()[i - 1], 48u);
  }
  EXPECT_EQ(rounds.Median(p.ends()), 48'000'000u);
}

TEST(Rounds, MemoryOfSomeWorkMayBeOtherEachTime) {
  Program p;
  for (int i = 0; i < 12; ++i) {
    for (uint32_t w = 0; w < 16; ++w) p.Work(w, w);
    for (uint32_t w = 0; w < 16; ++w) p.Work(20 + w, 100 + 16 * static_cast<uint64_t>(i) + w);
  }
  EXPECT_EQ(p.Find().works(), 32u);
}

TEST(Rounds, ALoopWithinAStepIsNoRound) {
  Program p;
  for (int step = 0; step < 10; ++step) {
    for (int micro = 0; micro < 4; ++micro) p.Layers(12, 100);
    for (uint32_t i = 0; i < 12; ++i) p.Work(3, i);
  }
  const Rounds rounds = p.Find();
  EXPECT_EQ(rounds.works(), 4 * 24 + 12u);
  EXPECT_GE(rounds.count(), 9u);
}

// Of which a step has so many that they take nearly all of it.
TEST(Rounds, NorIsOneThatTakesMostOfTheStep) {
  Program p;
  for (int step = 0; step < 6; ++step) {
    for (int micro = 0; micro < 16; ++micro) p.Layers(12, 100);
    for (uint32_t i = 0; i < 12; ++i) p.Work(3, i);
  }
  EXPECT_EQ(p.Find().works(), 16 * 24 + 12u);
}

TEST(Rounds, AFewMoreLaunchesNowAndThenAreNoMatter) {
  Program p;
  for (int step = 0; step < 24; ++step) {
    p.Layers(24, 100);
    if (step % 5 == 2) p.Once(2);
  }
  const Rounds rounds = p.Find();
  EXPECT_EQ(rounds.works(), 48u);
  EXPECT_GE(rounds.count(), 20u);
}

// A long pause, of which no round is to count.
TEST(Rounds, WhatIsDoneInBetweenIsNoRound) {
  Program p;
  for (int step = 0; step < 8; ++step) p.Layers(24, 100);
  p.Once(30);
  for (int step = 0; step < 8; ++step) p.Layers(24, 100);
  const Rounds rounds = p.Find();
  EXPECT_EQ(rounds.works(), 48u);
  EXPECT_GE(rounds.count(), 14u);
  EXPECT_LE(rounds.count(), 15u);
}

TEST(Rounds, TheMedianIsNotMovedByTheFirstOnes) {
  Program p;
  for (int i = 0; i < 12; ++i) p.Layers(24, 100);
  // What comes later ends later.
  for (size_t i = 0; i < p.ends().size(); ++i)
    p.ends()[i] += i < 96 ? i * 1'000'000'000 : 96'000'000'000;
  EXPECT_EQ(p.Find().Median(p.ends()), 48'000'000u);
}

TEST(Rounds, WhatDoesNotComeAgainHasNone) {
  Program p;
  p.Once(500);
  EXPECT_TRUE(p.Find().empty());
  EXPECT_EQ(p.Find().count(), 0u);
  EXPECT_EQ(p.Find().works(), 0u);
  EXPECT_EQ(p.Find().Median(p.ends()), 0u);
}

TEST(Rounds, ALittleThatComesAgainIsNoRound) {
  Program p;
  p.Once(400);
  for (int i = 0; i < 5; ++i) p.Layers(8, 100);
  p.Once(100);
  EXPECT_TRUE(p.Find().empty());
}

TEST(Rounds, TheSameCodeOnOtherMemoryIsNoRound) {
  Program p;
  for (uint32_t i = 0; i < 400; ++i) p.Work(i % 4, i);
  EXPECT_TRUE(p.Find().empty());
}

TEST(Rounds, AnyNumberOfPiecesWillDo) {
  for (uint32_t works = 0; works < 120; ++works) {
    Program p;
    for (uint32_t i = 0; i < works; ++i) p.Work(0, 0);
    const Rounds rounds = p.Find();
    EXPECT_EQ(rounds.works(), rounds.empty() ? 0 : 1u) << works;
    EXPECT_EQ(rounds.Median(p.ends()), rounds.empty() ? 0 : 1'000'000u) << works;
  }
}

// Each token works on memory of its own beside the weights, and some of its code is new: its cache
// is longer.
TEST(Phases, TokensAreRoundsByTheirWeights) {
  Program p;
  p.Once(30);
  for (uint64_t token = 0; token < 12; ++token) {
    for (uint32_t layer = 0; layer < 10; ++layer) {
      for (uint32_t w = 0; w < 6; ++w) {
        p.Work(w, 1000 * (token + 1) + layer, /*weights=*/w % 2 == 0 ? 1 + 6 * layer + w : 0);
      }
      if (layer % 3 == 0) p.Work(static_cast<uint32_t>(100 + token), 5000 + token);
    }
  }
  p.Once(20);
  ASSERT_EQ(p.FindAll().size(), 1u);
  EXPECT_EQ(p.Find().works(), 64u);
  EXPECT_GE(p.Find().count(), 10u);
}

// Tokens, then batches, each with something once before it.
TEST(Phases, EachKindOfRoundsIsFound) {
  Program p;
  p.Once(30);
  for (int i = 0; i < 10; ++i) p.Layers(20, 100);
  p.Once(10);
  for (int i = 0; i < 9; ++i) {
    for (uint32_t w = 0; w < 70; ++w) p.Work(50 + w % 35, w);
  }
  p.Once(30);
  const std::vector<Rounds> phases = p.FindAll();
  ASSERT_EQ(phases.size(), 2u);
  EXPECT_EQ(phases[0].works(), 40u);
  EXPECT_EQ(phases[1].works(), 70u);
  EXPECT_GE(phases[0].count(), 9u);
  EXPECT_GE(phases[1].count(), 5u);
  EXPECT_LE(phases[0].end(), phases[1].begins().front());
  EXPECT_EQ(phases[0].Median(p.ends()), 40'000'000u);
  EXPECT_EQ(phases[1].Median(p.ends()), 70'000'000u);
  EXPECT_EQ(p.Repeated(), phases[0].count() * 40'000'000 + phases[1].count() * 70'000'000);
  // Either is a fair part of the run; the second is the larger.
  EXPECT_EQ(p.Find().works(), 70u);
}

// A run is about none of its phases where each is a small part of it.
TEST(Phases, WithoutALargeOneThereIsNoMainOne) {
  Program p;
  p.Once(500);
  for (int i = 0; i < 6; ++i) p.Layers(10, 100);
  p.Once(500);
  ASSERT_EQ(p.FindAll().size(), 1u);
  EXPECT_EQ(p.FindAll()[0].works(), 20u);
  EXPECT_TRUE(p.Find().empty());
  EXPECT_EQ(p.Repeated(), 0u);
}

}  // namespace
}  // namespace vramspan::replay
