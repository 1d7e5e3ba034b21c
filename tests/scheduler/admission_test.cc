// In which order threads are let in that wait for room.
#include "runtime/scheduler/admission.h"

#include <gtest/gtest.h>

#include <deque>
#include <string>

namespace vramspan {
namespace {

constexpr Bytes kPiece = Bytes(uint64_t{1} << kMinChunkLog2);

DevicePtr Piece(uint64_t number) { return DevicePtr(number << kMinChunkLog2); }

Admission::Wanted Pieces(uint64_t first, uint64_t count) {
  Admission::Wanted wanted;
  wanted.Add(Piece(first), Bytes(count * kPiece.value));
  return wanted;
}

class AdmissionTest : public ::testing::Test {
 protected:
  Admission::Waiter* Come(char name, const Admission::Wanted& wanted, bool kernel = true) {
    Admission::Waiter& waiter = waiters_.emplace_back();
    waiter.wanted = wanted;
    waiter.kernel = kernel;
    admission_.Add(&waiter);
    names_.push_back(name);
    return &waiter;
  }
  char LetIn(bool kernels_only = false) {
    const Admission::Waiter* const waiter = admission_.LetIn(kernels_only);
    for (size_t i = 0; i < waiters_.size(); ++i) {
      if (&waiters_[i] == waiter) return names_[i];
    }
    return '-';
  }
  std::string LetAllIn() {
    std::string order;
    while (!admission_.empty()) order += LetIn();
    return order;
  }

  Admission admission_;
  std::deque<Admission::Waiter> waiters_;
  std::string names_;
};

TEST_F(AdmissionTest, NobodyWaits) {
  EXPECT_TRUE(admission_.empty());
  EXPECT_EQ(LetIn(), '-');
}

TEST_F(AdmissionTest, LetsInThoseThatWantTheSameOneBehindTheOther) {
  for (int round = 0; round < 3; ++round) {
    for (uint64_t i = 0; i < 4; ++i) Come(static_cast<char>('a' + i), Pieces(2 * i, 2));
  }
  EXPECT_EQ(LetAllIn(), "aaabbbcccddd");
}

TEST_F(AdmissionTest, LetsInWhoWantsLeastBeyondTheLast) {
  Come('a', Pieces(0, 4));
  Come('b', Pieces(10, 4));
  Come('c', Pieces(2, 4));
  Come('d', Pieces(1, 4));
  EXPECT_EQ(LetAllIn(), "adcb");
}

TEST_F(AdmissionTest, LetsInTheOldestOfThoseThatWantAsMuch) {
  for (const char name : {'a', 'b', 'c'}) Come(name, Pieces(5, 1));
  EXPECT_EQ(LetAllIn(), "abc");
}

TEST_F(AdmissionTest, LetsKernelsInWhereNothingElseMay) {
  Come('a', Pieces(0, 1), /*kernel=*/false);
  Come('b', Pieces(0, 1));
  EXPECT_EQ(LetIn(/*kernels_only=*/true), 'b');
  EXPECT_EQ(LetIn(/*kernels_only=*/true), '-');
  EXPECT_EQ(LetIn(), 'a');
}

TEST_F(AdmissionTest, TellsTheWaiter) {
  Admission::Waiter* const a = Come('a', Pieces(0, 1));
  Admission::Waiter* const b = Come('b', Pieces(0, 1));
  LetIn();
  EXPECT_TRUE(a->let_in);
  EXPECT_FALSE(b->let_in);
}

TEST_F(AdmissionTest, WaitersMayComeAfterTheLastHasGone) {
  Come('a', Pieces(0, 1));
  EXPECT_EQ(LetIn(), 'a');
  Come('b', Pieces(1, 1));
  Come('c', Pieces(2, 1));
  EXPECT_EQ(LetIn(), 'b');
  Come('d', Pieces(3, 1));
  EXPECT_EQ(LetAllIn(), "cd");
}

// Nine threads want the same memory again and again.
TEST_F(AdmissionTest, NobodyIsPassedForEver) {
  Come('a', Pieces(0, 1));
  EXPECT_EQ(LetIn(), 'a');
  Come('b', Pieces(1, 1));
  for (int i = 0; i < 9; ++i) Come('a', Pieces(0, 1));
  uint64_t passed = 0;
  for (; LetIn() == 'a'; ++passed) Come('a', Pieces(0, 1));
  EXPECT_EQ(passed, Admission::kMostPassed * 10 + 1);
}

TEST_F(AdmissionTest, NeitherIsWhatIsNoKernel) {
  Come('c', Pieces(1, 1), /*kernel=*/false);
  for (int i = 0; i < 9; ++i) Come('a', Pieces(0, 1));
  uint64_t passed = 0;
  for (; LetIn(/*kernels_only=*/true) == 'a'; ++passed) Come('a', Pieces(0, 1));
  EXPECT_EQ(passed, Admission::kMostPassed * 10 + 1);
  EXPECT_EQ(LetIn(), 'c') << "once fewer are held";
  EXPECT_EQ(LetIn(/*kernels_only=*/true), 'a');
}

TEST_F(AdmissionTest, MemoryThatWrapsRoundTheSetIsTheSame) {
  EXPECT_EQ(Pieces(62, 4).Beyond(Pieces(126, 4)), 0);
  EXPECT_EQ(Pieces(62, 4).Beyond(Pieces(0, 2)), 2);
  EXPECT_EQ(Pieces(0, 1).Beyond(Pieces(62, 3)), 0);
}

TEST_F(AdmissionTest, WhatIsLargeWantsAll) {
  EXPECT_EQ(Pieces(3, 64).Beyond({}), 64);
  EXPECT_EQ(Pieces(3, 1000).Beyond({}), 64);
  EXPECT_EQ(Pieces(7, 63).Beyond({}), 63);
  Admission::Wanted nothing;
  nothing.Add(Piece(1), Bytes(0));
  EXPECT_EQ(nothing.Beyond({}), 0);
  Admission::Wanted part;
  part.Add(DevicePtr(Piece(5).value - 1), Bytes(2));
  EXPECT_EQ(part.Beyond({}), 2);
  Admission::Wanted most;
  most.Add(DevicePtr(UINT64_MAX - 1), Bytes(2));
  EXPECT_EQ(most.Beyond({}), 1);
}

}  // namespace
}  // namespace vramspan
