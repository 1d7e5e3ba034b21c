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

TEST_F(ProvenLengthsTest, ANumberThatSaysWhichPiece) {
  for (const uint64_t i : {2, 3, 5, 6}) Note(At(i), {64, Place(i), 3});
  EXPECT_TRUE(Holds(At(4), {64, Place(4), 3}));
  EXPECT_TRUE(Holds(At(0), {64, Place(0), 3}));
  EXPECT_TRUE(Holds(At(9), {64, Place(9), 3}));
  EXPECT_TRUE(Holds(At(2), {64, Place(2), 3}));
  EXPECT_FALSE(Holds(At(9), {64, Place(10), 3}));
  EXPECT_FALSE(Holds(At(9), {64, Place(9), 4})) << "two that differ";
  EXPECT_FALSE(Holds(At(9), {64, Place(9)}));
  EXPECT_FALSE(Holds(At(9), {64, Place(9), 3}, kLength / 2)) << "not as far";
  const Submission same = Launch({64, Place(9), 3});
  EXPECT_TRUE(lengths_.Hold(same, {}, {At(9), kLength}));
  EXPECT_FALSE(lengths_.Hold(same, {.slot = 1}, {At(9), kLength})) << "another pointer";
  EXPECT_FALSE(lengths_.Hold(Launch({64, Place(9), 3}, /*shape=*/2), {}, {At(9), kLength}));
}

TEST_F(ProvenLengthsTest, ThreePiecesProveNothing) {
  for (const uint64_t i : {2, 3, 5, 5, 3}) Note(At(i), {Place(i)});
  EXPECT_FALSE(Holds(At(9), {Place(9)}));
}

// They are sizes, for all that is known; and what has none may be another kind of launch.
TEST_F(ProvenLengthsTest, OtherNumbersProveNothing) {
  for (const uint64_t n : {10, 40, 20, 30}) Note(At(1), {n, 5});
  EXPECT_FALSE(Holds(At(7), {33, 5}));
  EXPECT_FALSE(Holds(At(1), {33, 5}));
  for (const uint64_t i : {2, 3, 5, 6}) Note(At(i), {7, 9});
  EXPECT_FALSE(Holds(At(8), {7, 9}));
  for (const uint64_t i : {2, 3, 5, 6}) Note(At(i), {});
  EXPECT_FALSE(Holds(At(8), {}));
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
  // Learnt later than the first four.
  for (const uint64_t i : {2, 3, 5, 6}) Note(At(i), {8, Place(i)});
  EXPECT_TRUE(Holds(At(9), {8, Place(9)}));
  Note(At(7), {8, Place(6)});
  EXPECT_FALSE(Holds(At(9), {8, Place(9)}));
}

TEST_F(ProvenLengthsTest, NumbersOfAnySize) {
  constexpr uint64_t kLeast = std::numeric_limits<int64_t>::min();
  for (const uint64_t n : {uint64_t{0}, ~uint64_t{0}, kLeast, kLeast - 1}) Note(At(n % 7), {3, n});
  EXPECT_FALSE(Holds(At(1), {3, kLeast}));  // No overflow.
}

TEST_F(ProvenLengthsTest, AreBounded) {
  for (uint64_t i = 0; i < 3 * ProvenLengths::kMost; ++i) {
    Note(At(i), {i, i, i});
    ASSERT_LE(lengths_.size(), ProvenLengths::kMost);
  }
}

}  // namespace
}  // namespace vramspan
