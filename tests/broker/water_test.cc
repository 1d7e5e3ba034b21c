// Weighted water-filling in plain numbers, and against a search for the level.
#include "tools/broker/core/water.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "tools/broker/core/amounts.h"

namespace vramspan::broker {
namespace {

Share Wants(uint64_t ceiling, uint32_t weight = 1, uint64_t floor = 0, uint64_t hard = 0) {
  return {.weight = weight, .hard = Bytes(hard), .floor = Bytes(floor), .ceiling = Bytes(ceiling)};
}

std::vector<uint64_t> Fill(uint64_t capacity, std::vector<Share> shares) {
  Waterfill(Bytes(capacity), shares);
  std::vector<uint64_t> result;
  for (const Share& share : shares) result.push_back(share.share.value);
  return result;
}

using Numbers = std::vector<uint64_t>;

TEST(Water, EqualWeightsShareAlike) {
  EXPECT_EQ(Fill(90, {Wants(100), Wants(100), Wants(100)}), (Numbers{30, 30, 30}));
}

TEST(Water, BytesThatDoNotDivideAreGivenOut) {
  EXPECT_EQ(Fill(100, {Wants(100), Wants(100), Wants(100)}), (Numbers{34, 33, 33}));
}

TEST(Water, WeightsCount) {
  EXPECT_EQ(Fill(80, {Wants(100, 3), Wants(100, 1)}), (Numbers{60, 20}));
}

TEST(Water, WhatOneDoesNotWantGoesToTheOthersByWeight) {
  EXPECT_EQ(Fill(90, {Wants(10), Wants(100, 3), Wants(100, 1)}), (Numbers{10, 60, 20}));
}

TEST(Water, NobodyGetsMoreThanTheCeiling) {
  EXPECT_EQ(Fill(90, {Wants(10), Wants(20)}), (Numbers{10, 20}));
}

TEST(Water, FloorsComeFirst) {
  EXPECT_EQ(Fill(90, {Wants(100, 1, 60), Wants(100), Wants(100)}), (Numbers{60, 15, 15}));
}

// A floor and a ceiling at once: settling the floor first would leave the second less than its due.
TEST(Water, FloorsAndCeilingsTogether) {
  EXPECT_EQ(Fill(100, {Wants(100, 1, 50), Wants(10), Wants(100)}), (Numbers{50, 10, 40}));
  EXPECT_EQ(Fill(100, {Wants(100, 1, 35), Wants(10), Wants(100)}), (Numbers{45, 10, 45}));
}

TEST(Water, FloorsThatDoNotFitShrinkInProportion) {
  EXPECT_EQ(Fill(60, {Wants(100, 1, 80), Wants(100, 9, 40)}), (Numbers{40, 20}));
}

TEST(Water, HardPartsAreKeptAndTheRestOfTheFloorsShrinks) {
  EXPECT_EQ(Fill(60, {Wants(30, 1, 30, 30), Wants(100, 1, 40), Wants(100, 1, 20)}),
            (Numbers{30, 20, 10}));
}

TEST(Water, HardPartsCannotBeTaken) {
  EXPECT_EQ(Fill(60, {Wants(50, 1, 50, 50), Wants(40, 1, 40, 40), Wants(10, 1, 5)}),
            (Numbers{50, 40, 0}));
}

TEST(Water, NothingIsNothing) {
  EXPECT_EQ(Fill(100, {}), Numbers{});
  EXPECT_EQ(Fill(0, {Wants(10), Wants(10)}), (Numbers{0, 0}));
  EXPECT_EQ(Fill(10, {Wants(0), Wants(0)}), (Numbers{0, 0}));
}

TEST(Water, TheLargestNumbersDoNotWrap) {
  constexpr uint64_t kMost = UINT64_MAX;
  EXPECT_EQ(Fill(kMost, {Wants(kMost, 10'000), Wants(kMost, 1, kMost)}), (Numbers{0, kMost}));
  const Numbers shares = Fill(kMost, {Wants(kMost, 10'000), Wants(kMost, 10'000)});
  EXPECT_EQ(shares[0] + shares[1], kMost);
  EXPECT_EQ(Fill(kMost, {Wants(kMost, 1, kMost, kMost), Wants(kMost, 1, kMost, kMost)}),
            (Numbers{kMost, kMost}));
}

// The level by bisection, in floating point.
double At(double level, const Share& share) {
  return std::clamp(level * share.weight, static_cast<double>(share.floor.value),
                    static_cast<double>(share.ceiling.value));
}

double Level(double capacity, const std::vector<Share>& shares) {
  double low = 0, high = 1e15;
  for (int i = 0; i < 110; ++i) {
    const double middle = (low + high) / 2;
    double sum = 0;
    for (const Share& share : shares) sum += At(middle, share);
    (sum > capacity ? high : low) = middle;
  }
  return low;
}

TEST(Water, RandomSharesAreAsTheReferenceHasThem) {
  std::mt19937_64 random(1);
  const auto below = [&](uint64_t n) { return random() % n; };
  for (int round = 0; round < 5'000; ++round) {
    std::vector<Share> shares(1 + below(9));
    uint64_t floors = 0, ceilings = 0;
    const uint64_t most = uint64_t{1} << (4 + below(36));
    for (Share& share : shares) {
      share.weight = static_cast<uint32_t>(1 + below(below(2) == 0 ? 4 : 10'000));
      share.ceiling = Bytes(below(most));
      share.floor = below(2) == 0 ? Bytes() : Bytes(below(share.ceiling.value + 1));
      share.hard = below(2) == 0 ? Bytes() : Bytes(below(share.floor.value + 1));
      floors += share.floor.value;
      ceilings += share.ceiling.value;
    }
    const uint64_t capacity = floors + below(ceilings - floors + most);
    Waterfill(Bytes(capacity), shares);
    const double level = Level(static_cast<double>(capacity), shares);
    uint64_t sum = 0;
    for (const Share& share : shares) {
      sum += share.share.value;
      EXPECT_GE(share.share, share.floor);
      EXPECT_LE(share.share, share.ceiling);
      EXPECT_NEAR(static_cast<double>(share.share.value), At(level, share), 1.5) << round;
    }
    EXPECT_EQ(sum, std::min(capacity, ceilings)) << round;
  }
}

}  // namespace
}  // namespace vramspan::broker
