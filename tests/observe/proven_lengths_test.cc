// What launches that have proved how far they go tell of one that differs in a number.
#include "runtime/observe/proven_lengths.h"

#include <gtest/gtest.h>

#include <limits>

namespace vramspan {
namespace {

constexpr uint64_t kLength = MiB(4).value;

Submission Launch(std::vector<uint64_t> words, uint64_t shape = 1) {
  Submission s;
  s.kind = Submission::Kind::kKernel;
  s.shape = shape;
  for (const uint64_t word : words) s.numbers = s.numbers * 31 + word;
  s.words = std::move(words);
  return s;
}

class ProvenLengthsTest : public testing::Test {
 protected:
  void Note(uint64_t offset, std::vector<uint64_t> words, uint64_t length = kLength) {
    lengths_.Note(Launch(std::move(words)), {}, {offset, length});
  }
  bool Holds(uint64_t offset, std::vector<uint64_t> words, uint64_t length = kLength) {
    return lengths_.Hold(Launch(std::move(words)), {}, {offset, length});
  }
  // Piece `i`, its number in units of 16 bytes.
  static uint64_t At(uint64_t i) { return i * kLength; }
  static uint64_t Place(uint64_t i) { return 1000 + At(i) / 16; }

  ProvenLengths lengths_;
};

TEST_F(ProvenLengthsTest, TheSameNumbersAtFourPlaces) {
  for (const uint64_t i : {0, 1, 2, 2, 2}) Note(At(i), {7, 9});
  EXPECT_FALSE(Holds(At(8), {7, 9})) << "three places";
  Note(At(3), {7, 9});
  EXPECT_TRUE(Holds(At(8), {7, 9}));
  EXPECT_FALSE(Holds(At(8), {7, 9}, kLength / 2)) << "not as far";
  EXPECT_FALSE(Holds(At(8), {7, 10}));
  EXPECT_FALSE(Holds(At(8), {7}));
  EXPECT_FALSE(lengths_.Hold(Launch({7, 9}, /*shape=*/2), {}, {At(8), kLength}));
  EXPECT_FALSE(lengths_.Hold(Launch({7, 9}), {.slot = 1}, {At(8), kLength})) << "another pointer";
}

TEST_F(ProvenLengthsTest, LaunchesWithoutNumbersHaveTheSame) {
  for (uint64_t i = 0; i < 4; ++i) Note(At(i), {});
  EXPECT_TRUE(Holds(At(8), {}));
}

TEST_F(ProvenLengthsTest, ANumberThatSaysWhichPiece) {
  for (const uint64_t i : {2, 3, 5, 6}) Note(At(i), {64, Place(i), 3});
  EXPECT_TRUE(Holds(At(4), {64, Place(4), 3}));
  EXPECT_TRUE(Holds(At(0), {64, Place(0), 3}));
  EXPECT_TRUE(Holds(At(9), {64, Place(9), 3}));
  EXPECT_TRUE(Holds(At(2), {64, Place(2), 3}));
  EXPECT_FALSE(Holds(At(9), {64, Place(10), 3}));
  EXPECT_FALSE(Holds(At(9), {64, Place(9), 4})) << "two that differ";
}

TEST_F(ProvenLengthsTest, OneThatCountsDown) {
  for (const uint64_t i : {2, 3, 5, 6}) Note(At(i), {0 - Place(i)});
  EXPECT_TRUE(Holds(At(9), {0 - Place(9)}));
  EXPECT_FALSE(Holds(At(9), {Place(9)}));
}

TEST_F(ProvenLengthsTest, ANumberOffTheLineIsNoPlace) {
  for (const uint64_t i : {2, 3, 5}) Note(At(i), {Place(i)});
  Note(At(6), {Place(6) + 1});
  EXPECT_FALSE(Holds(At(9), {Place(9)}));
  EXPECT_TRUE(Holds(At(4), {Place(4)})) << "between the others";
  // Learnt later than the first four.
  for (const uint64_t i : {2, 3, 5, 6}) Note(At(i), {8, Place(i)});
  EXPECT_TRUE(Holds(At(9), {8, Place(9)}));
  Note(At(7), {8, Place(6)});
  EXPECT_FALSE(Holds(At(9), {8, Place(9)}));
}

TEST_F(ProvenLengthsTest, ANumberBetweenThoseSeen) {
  for (const uint64_t n : {10, 40, 20, 30}) Note(At(1), {n, 5});
  EXPECT_TRUE(Holds(At(7), {10, 5}));
  EXPECT_TRUE(Holds(At(7), {33, 5}));
  EXPECT_TRUE(Holds(At(7), {40, 5}));
  EXPECT_FALSE(Holds(At(7), {41, 5})) << "it may be a size";
  EXPECT_FALSE(Holds(At(7), {9, 5}));
  EXPECT_FALSE(Holds(At(7), {33, 4}));
}

// Two numbers of four bytes in one word.
TEST_F(ProvenLengthsTest, HalvesOfANumber) {
  const auto both = [](uint64_t low, uint64_t high) { return high << 32 | low; };
  for (const uint64_t n : {10, 40, 20, 30}) Note(At(1), {both(n, 6)});
  EXPECT_TRUE(Holds(At(1), {both(33, 6)}));
  EXPECT_FALSE(Holds(At(1), {both(33, 7)}));
  for (const uint64_t n : {10, 40, 20, 30}) Note(At(1), {1, both(6, n)});
  EXPECT_TRUE(Holds(At(1), {1, both(6, 33)}));
  EXPECT_FALSE(Holds(At(1), {1, both(7, 33)}));
  for (const uint64_t n : {10, 40, 20, 30}) Note(At(1), {2, both(n, n)});
  EXPECT_FALSE(Holds(At(1), {2, both(33, 33)})) << "a product";
}

TEST_F(ProvenLengthsTest, NegativeNumbersBoundNothing) {
  for (const uint64_t n : {0xffff'ffffu, 0u, 1u, 2u}) Note(At(1), {n});
  EXPECT_FALSE(Holds(At(1), {1000}));
  constexpr uint64_t kLeast = std::numeric_limits<int64_t>::min();
  for (const uint64_t n : {uint64_t{0}, ~uint64_t{0}, kLeast, kLeast - 1}) Note(At(n % 7), {3, n});
  Holds(At(1), {3, kLeast});  // No overflow.
}

TEST_F(ProvenLengthsTest, AreBounded) {
  for (uint64_t i = 0; i < 3 * ProvenLengths::kMost; ++i) {
    Note(At(i), {i, i, i});
    ASSERT_LE(lengths_.size(), ProvenLengths::kMost);
  }
}

}  // namespace
}  // namespace vramspan
