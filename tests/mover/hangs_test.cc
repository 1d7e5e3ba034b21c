// Kernels that wait: for the processor, and for work that is held until memory has been moved.
// Whoever waits for them before moving, or before letting the launching thread go on, waits for
// ever.
#include <array>
#include <utility>

#include "tests/mover/hangs_test_fixture.h"

namespace vramspan_test {
namespace {

// A launch that waits for its memory is held on the device; the call returns.
TEST_F(Hangs, KernelWaitsForAFlagThatIsSetAfterTheNextLaunches) {
  ASSERT_NO_FATAL_FAILURE(Prepare(8, 4, {.deadline_us = kLongDeadlineUs}));
  const CUstream a = NewStream(), b = NewStream();
  Flag flag;
  const vramspanStatistics before = Stats();
  Await("a scope whose kernel waits for the flag");
  ASSERT_SPAN(Begin(a, {4}));
  flag.SpinIn(a, 1);
  LaunchAdd(a, 4);
  EXPECT_SPAN(End(a));
  Await("the next launch, in the same stream, while the flag is not set");
  Add(a, {5});
  Await("the next launch, in another stream, while the flag is not set");
  Add(b, {6});
  flag.Set(1);
  Finish();
  const vramspanStatistics after = Stats();
  EXPECT_GE(after.fetches - before.fetches, 3u);
  EXPECT_EQ(after.deadlines, before.deadlines);
}

// The next launch cannot be given room before the flag is set, and is called all the same.
TEST_F(Hangs, KernelThatHasTheWholeBudgetWaitsForAFlagThatIsSetAfterTheNextLaunches) {
  ASSERT_NO_FATAL_FAILURE(Prepare(8, 4, {.deadline_us = kLongDeadlineUs}));
  const CUstream a = NewStream(), b = NewStream();
  Flag flag;
  const vramspanStatistics before = Stats();
  Await("a scope whose kernel waits for the flag");
  ASSERT_SPAN(Begin(a, {0, 1, 2, 3}));
  flag.SpinIn(a, 1);
  for (const size_t i : {0, 1, 2, 3}) LaunchAdd(a, i);
  EXPECT_SPAN(End(a));
  Await("the next launches, while the flag is not set");
  Add(a, {4});
  Add(b, {5, 6});
  EXPECT_EQ(Stats().fetches, before.fetches) << "there is no room";
  flag.Set(1);
  Finish();
  const vramspanStatistics after = Stats();
  EXPECT_GE(after.fetches - before.fetches, 3u);
  EXPECT_EQ(after.deadlines, before.deadlines);
}

// Memory moves beside work in flight that does not touch it.
TEST_F(Hangs, KernelSpinsUntilAnotherStreamsKernelHasRunWhichNeedsAMove) {
  ASSERT_NO_FATAL_FAILURE(Prepare(8, 4, {.deadline_us = kLongDeadlineUs}));
  const CUstream waits = NewStream(), sets = NewStream();
  Flag flag;
  const vramspanStatistics before = Stats();
  Await("a scope whose kernel waits for another kernel");
  ASSERT_SPAN(Begin(waits, {0, 4}));
  flag.SpinIn(waits, 1);
  LaunchAdd(waits, 0);
  LaunchAdd(waits, 4);
  EXPECT_SPAN(End(waits));
  Await("a scope whose kernel is waited for");
  ASSERT_SPAN(Begin(sets, {5}));
  LaunchAdd(sets, 5);
  flag.SetIn(sets, 1);
  EXPECT_SPAN(End(sets));
  Await("the kernel that waits for another, for which memory must be moved");
  EXPECT_CU(cu_.StreamSynchronize(waits));
  EXPECT_TRUE(OnDevice(5));
  Finish();
  const vramspanStatistics after = Stats();
  EXPECT_GE(after.fetches - before.fetches, 2u);
  EXPECT_GE(after.evictions - before.evictions, 1u);
  EXPECT_EQ(after.deadlines, before.deadlines);
}

// Here nothing can leave, so that the move is impossible as long as the spinning kernel runs, which
// is as long as the move is waited for.
TEST_F(Hangs, KernelThatHasTheWholeBudgetSpinsUntilAKernelHasRunWhichNeedsAMove) {
  ASSERT_NO_FATAL_FAILURE(Prepare(8, 4));
  const CUstream waits = NewStream(), sets = NewStream();
  Flag flag;
  const vramspanStatistics before = Stats();
  Await("a scope whose kernel waits for another kernel");
  ASSERT_SPAN(Begin(waits, {0, 1, 2, 3}));
  flag.SpinIn(waits, 1);
  for (const size_t i : {0, 1, 2, 3}) LaunchAdd(waits, i);
  EXPECT_SPAN(End(waits));
  Await("a scope whose kernel is waited for");
  ASSERT_SPAN(Begin(sets, {5}));
  LaunchAdd(sets, 5);
  flag.SetIn(sets, 1);
  EXPECT_SPAN(End(sets));
  Await("the kernel that waits for another, for which there is no room");
  EXPECT_CU(cu_.StreamSynchronize(waits));
  const vramspanStatistics after = Stats();
  EXPECT_GT(after.works_held, before.works_held);
  EXPECT_GT(after.works_in_place, before.works_in_place);
  Finish();
}

// What ends after the program has thought for a while has not run so long, so what is stuck later
// is let go as soon as ever: two pieces of work, each after a deadline of its own.
TEST_F(Hangs, WhatTheProgramThinksIsNotTakenForTheTimeOfWork) {
  ASSERT_NO_FATAL_FAILURE(Prepare(8, 4));
  const CUstream waits = NewStream(), beside = NewStream(), sets = NewStream();
  Flag flag;
  Await("a scope whose kernel waits for another kernel");
  ASSERT_SPAN(Begin(waits, {0, 1, 2, 3}));
  flag.SpinIn(waits, 1);
  for (const size_t i : {0, 1, 2}) LaunchAdd(waits, i);
  EXPECT_SPAN(End(waits));
  std::this_thread::sleep_for(std::chrono::milliseconds(600));
  Await("work beside it that has its memory");
  Add(beside, {3});
  EXPECT_CU(cu_.StreamSynchronize(beside));
  const auto begin = std::chrono::steady_clock::now();
  Add(beside, {4});
  ASSERT_SPAN(Begin(sets, {5}));
  LaunchAdd(sets, 5);
  flag.SetIn(sets, 1);
  EXPECT_SPAN(End(sets));
  Await("the kernel that waits for another, for which there is no room");
  EXPECT_CU(cu_.StreamSynchronize(waits));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(700));
  Finish();
}

// Nothing is moved while work runs that may touch anything. That work waits for a move.
TEST_F(Hangs, KernelOfUnknownRangesSpinsUntilAKernelHasRunWhichNeedsAMove) {
  ASSERT_NO_FATAL_FAILURE(Prepare(8, 4));
  const CUstream waits = NewStream(), sets = NewStream();
  Flag flag;
  const vramspanStatistics before = Stats();
  Await("a scope of unknown ranges");
  ASSERT_SPAN(BeginUnknown(waits));
  flag.SpinIn(waits, 1);
  LaunchAdd(waits, 7);
  EXPECT_SPAN(End(waits));
  Await("a scope whose kernel is waited for");
  ASSERT_SPAN(Begin(sets, {5}));
  LaunchAdd(sets, 5);
  flag.SetIn(sets, 1);
  EXPECT_SPAN(End(sets));
  Await("the kernel that waits for another, for which nothing may be moved");
  EXPECT_CU(cu_.StreamSynchronize(waits));
  EXPECT_GT(Stats().works_held, before.works_held);
  Finish();
}

// Two streams hand a flag to and fro, and every kernel needs memory that was moved out for the one
// before. The processor sets it first, when all is submitted: in the order in which they run, or
// all of one stream's before the other's, so that what was submitted last must run first.
class TurnsOfTwoStreams : public Hangs, public testing::WithParamInterface<bool> {};

TEST_P(TurnsOfTwoStreams, EachKernelNeedsMovesAndWaitsForTheOther) {
  ASSERT_NO_FATAL_FAILURE(Prepare(8, 4));
  const std::array<CUstream, 2> streams = {NewStream(), NewStream()};
  Flag flag;
  const vramspanStatistics before = Stats();
  constexpr unsigned kTurns = 24;
  const auto submit = [&](unsigned turn) {
    Await("turn " + std::to_string(turn) + " to be submitted");
    const CUstream stream = streams[turn % 2];
    const size_t block = turn % 8;
    ASSERT_SPAN(Begin(stream, {block}));
    flag.SpinIn(stream, turn + 1);
    LaunchAdd(stream, block);
    flag.SetIn(stream, turn + 2);
    EXPECT_SPAN(End(stream));
  };
  if (GetParam()) {
    for (unsigned turn = 0; turn < kTurns; ++turn) submit(turn);
  } else {
    for (unsigned turn = 1; turn < kTurns; turn += 2) submit(turn);
    for (unsigned turn = 0; turn < kTurns; turn += 2) submit(turn);
  }
  flag.Set(1);
  Await("the last turn");
  for (const CUstream stream : streams) EXPECT_CU(cu_.StreamSynchronize(stream));
  EXPECT_EQ(flag.Get(), kTurns + 1);
  Finish();
  EXPECT_GT(Stats().works_held, before.works_held);
}

INSTANTIATE_TEST_SUITE_P(Hangs, TurnsOfTwoStreams, testing::Bool(), [](const auto& each) {
  return std::string(each.param ? "InOrder" : "TheOneThatWaitsFirst");
});

// A pin waits for room on the calling thread. There will be none before the flag is set.
TEST_F(Hangs, PinBesideAKernelThatHasTheWholeBudget) {
  ASSERT_NO_FATAL_FAILURE(Prepare(8, 4));
  const CUstream a = NewStream();
  Flag flag;
  Await("a scope whose kernel waits for the flag");
  ASSERT_SPAN(Begin(a, {0, 1, 2, 3}));
  flag.SpinIn(a, 1);
  EXPECT_SPAN(End(a));
  Await("vramspanMemPin, while there is no room");
  EXPECT_EQ(vramspanMemPin(runtime_, blocks_[4].ptr, kChunk), CUDA_ERROR_OUT_OF_MEMORY);
  flag.Set(1);
  Finish();
  Await("vramspanMemPin, when there is room");
  EXPECT_SPAN(vramspanMemPin(runtime_, blocks_[4].ptr, kChunk));
  EXPECT_TRUE(OnDevice(4));
  EXPECT_SPAN(vramspanMemUnpin(runtime_, blocks_[4].ptr, kChunk));
  Finish();
}

}  // namespace
}  // namespace vramspan_test
