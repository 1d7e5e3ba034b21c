// Programs that a careless scheduler would hang, and what must not be lost: as events and actions,
// in plain numbers of time. On a driver they are in tests/mover (hangs_test*.cc, hidden_test.cc).
#include <gtest/gtest.h>

#include "tests/scheduler/simulation/scripted.h"

namespace vramspan::simulation {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Duration kDeadline = milliseconds(20);

TEST(Scenario, HeldWorkIsLetGoWhenItsMemoryHasCome) {
  Scripted world(4, 2);
  const auto work = world.Kernel({5}, microseconds(100));
  world.SubmitAndReturn(work.get());
  // Out, in, and both mappings.
  EXPECT_LE(world.UntilReleased(*work), milliseconds(3));
  EXPECT_TRUE(world.chunk(5).on_device);
}

TEST(Scenario, KernelThatHasTheWholeBudgetSpinsUntilAKernelHasRunWhichNeedsAMove) {
  Scripted world(4, 2);
  const auto spins = world.Kernel({1, 2, 3, 4}, {});
  spins->for_ever = true;
  world.SubmitAndReturn(spins.get());
  const auto awaited = world.Kernel({5}, microseconds(100));
  world.SubmitAndReturn(awaited.get());
  EXPECT_LE(world.UntilReleased(*awaited), kDeadline + milliseconds(1));
  EXPECT_FALSE(world.chunk(5).on_device) << "it runs with its memory where it is";
}

TEST(Scenario, TheAwaitedOneIsFarDownTheQueue) {
  Scripted world(4, 2);
  const auto spins = world.Kernel({1, 2, 3, 4}, {});
  spins->for_ever = true;
  world.SubmitAndReturn(spins.get());
  std::vector<std::unique_ptr<Launch>> queue;
  for (int i = 0; i < 100; ++i) {
    queue.push_back(world.Kernel({5}, microseconds(10)));
    world.SubmitAndReturn(queue.back().get());
  }
  // One, 16, 256: three times the deadline.
  EXPECT_LE(world.UntilReleased(*queue.back()), 4 * kDeadline);
}

TEST(Scenario, KernelOfUnknownRangesSpinsUntilAKernelHasRunWhichNeedsAMove) {
  Scripted world(4, 2);
  const auto spins = world.Kernel({}, {});
  spins->access = Access::kUnknown;
  spins->for_ever = true;
  world.SubmitAndReturn(spins.get());
  const auto awaited = world.Kernel({5}, microseconds(100));
  world.SubmitAndReturn(awaited.get());
  EXPECT_LE(world.UntilReleased(*awaited), kDeadline + milliseconds(1));
  EXPECT_EQ(world.scheduler().moves().counts().fetches, 0u) << "nothing moves while it runs";
}

TEST(Scenario, TwoStreamsWhoseKernelsNeedMovesAndWaitForEachOther) {
  Scripted world(4, 4);
  std::unique_ptr<Launch> before;
  for (int turn = 0; turn < 10; ++turn) {
    const uint32_t first = turn % 2 == 0 ? 1 : 5;
    auto work = world.Kernel({first, first + 1, first + 2}, {});
    work->for_ever = true;
    world.SubmitAndReturn(work.get());
    EXPECT_LE(world.UntilReleased(*work), 2 * kDeadline) << turn;
    if (before != nullptr) world.End(before.get());
    before = std::move(work);
  }
}

TEST(Scenario, WhatTheProgramThinksIsNotTakenForTheTimeOfWork) {
  Scripted world(4, 2);
  const auto shorter = world.Kernel({1}, microseconds(100));
  world.SubmitAndReturn(shorter.get());
  world.Pass(milliseconds(300));
  const auto spins = world.Kernel({1, 2, 3, 4}, {});
  spins->for_ever = true;
  world.SubmitAndReturn(spins.get());
  const auto awaited = world.Kernel({5}, microseconds(100));
  world.SubmitAndReturn(awaited.get());
  EXPECT_LE(world.UntilReleased(*awaited), kDeadline + milliseconds(1));
}

TEST(Scenario, CopyThatReturnsWhenItIsDoneBehindItsOwnHold) {
  Scripted world(4, 2);
  const auto busy = world.Kernel({1, 2, 3, 4}, milliseconds(2));
  world.SubmitAndReturn(busy.get());
  // Its thread stays inside the driver, and what it names cannot be remapped before it is back.
  const auto copy = world.Copy({5});
  world.Submit(copy.get());
  EXPECT_LE(world.UntilReleased(*copy), kDeadline);
  world.Return(copy.get());
}

TEST(Scenario, ThreadStaysInItsScopeBehindWorkThatWaitsForItsChunk) {
  Scripted world(4, 2);
  const auto busy = world.Kernel({2, 3, 4}, {});
  busy->for_ever = true;
  world.SubmitAndReturn(busy.get());
  // The head is to have chunk 5 in the place of chunk 1; the copy behind it hands over both.
  const auto head = world.Kernel({5}, microseconds(100));
  const auto copy = world.Copy({1, 5});
  world.SubmitAndReturn(head.get());
  world.Submit(copy.get());
  EXPECT_LE(world.UntilReleased(*copy), kDeadline + milliseconds(2));
}

TEST(Scenario, UnknownWorkBlockedInItsScope) {
  Scripted world(4, 2);
  const auto head = world.Kernel({5}, microseconds(100));
  const auto unknown = world.Kernel({}, microseconds(100));
  unknown->access = Access::kUnknown;
  world.SubmitAndReturn(head.get());
  world.Submit(unknown.get());
  EXPECT_LE(world.UntilReleased(*unknown), kDeadline);
}

TEST(Scenario, PinBesideAKernelThatHasTheWholeBudget) {
  Scripted world(4, 2);
  const auto spins = world.Kernel({1, 2, 3, 4}, {});
  spins->for_ever = true;
  world.SubmitAndReturn(spins.get());
  const auto pin = world.Kernel({5}, {});
  pin->kind = Work::Kind::kPin;
  world.SubmitAndReturn(pin.get());
  EXPECT_LE(world.UntilReleased(*pin), kDeadline + milliseconds(1));
  EXPECT_FALSE(world.chunk(5).on_device);
}

TEST(Scenario, ContextDiesWhileWorkIsHeld) {
  Scripted world(4, 2);
  const auto spins = world.Kernel({1, 2, 3, 4}, {});
  spins->for_ever = true;
  world.SubmitAndReturn(spins.get());
  const auto held = world.Kernel({5}, microseconds(100));
  world.SubmitAndReturn(held.get());
  world.scheduler().work().ContextDied();
  EXPECT_LE(world.UntilReleased(*held), milliseconds(1));
}

TEST(Scenario, CopiesThatDoNotEndInASharedContextAreGivenUp) {
  Scripted world(4, 2);
  world.scheduler().ShareContext();
  world.copies_stuck = true;
  const auto held = world.Kernel({5}, microseconds(100));
  world.SubmitAndReturn(held.get());
  EXPECT_LE(world.UntilReleased(*held), 11 * kDeadline);
  EXPECT_NE(world.detached(), 0u);
}

TEST(Scenario, WhatGetsNothingWhileOthersGoOnIsNotStarved) {
  Scripted world(4, 2);
  const auto spins = world.Kernel({1, 2, 3, 4}, {});
  spins->for_ever = true;
  world.SubmitAndReturn(spins.get());
  const auto held = world.Kernel({5}, microseconds(100));
  world.SubmitAndReturn(held.get());
  // Arrivals and ends of others count as progress.
  std::vector<std::unique_ptr<Launch>> others;
  for (int i = 0; i < 100 && !held->released; ++i) {
    world.scheduler().work().Looked(world.now());
    world.Pass(milliseconds(5));
  }
  EXPECT_TRUE(held->released);
}

TEST(Scenario, ServedInPlaceAfterACopyThatFailed) {
  Scripted world(4, 2);
  world.failing_copies = 1;
  const auto held = world.Kernel({5}, microseconds(100));
  world.SubmitAndReturn(held.get());
  EXPECT_LE(world.UntilReleased(*held), kDeadline + milliseconds(5));
}

TEST(Scenario, AMappingThatWasLostIsMended) {
  Scripted world(4, 2);
  world.lost_remaps = 3;
  const auto held = world.Kernel({5}, microseconds(100));
  world.SubmitAndReturn(held.get());
  // Each attempt waits for five milliseconds.
  EXPECT_LE(world.UntilReleased(*held), milliseconds(40));
  world.Pass(milliseconds(1));
  EXPECT_FALSE(world.chunk(5).lost);
}

// Chunk 5 takes the place of chunk 1, which stays unmapped.
std::unique_ptr<Scripted> WithOneUnmapped() {
  auto world = std::make_unique<Scripted>(4, 2);
  const auto work = world->Kernel({5}, microseconds(100));
  world->SubmitAndReturn(work.get());
  world->Pass(milliseconds(10));
  EXPECT_EQ(world->scheduler().residency().unmapped(), 1u);
  return world;
}

TEST(Scenario, ACopyFindsItsMemoryMapped) {
  const auto world = WithOneUnmapped();
  const auto copy = world->Copy({1});
  EXPECT_TRUE(world->scheduler().reachability().MustWait(*copy));
  world->Pass(milliseconds(1));
  EXPECT_FALSE(world->scheduler().reachability().MustWait(*copy));
  EXPECT_EQ(world->scheduler().residency().unmapped(), 0u);
}

TEST(Scenario, MappedWhenTheDriverIsAbleAgain) {
  const auto world = WithOneUnmapped();
  world->failing_maps = 3;
  const auto copy = world->Copy({1});
  EXPECT_TRUE(world->scheduler().reachability().MustWait(*copy));
  for (int i = 0; i < 6; ++i) {
    world->Pass(milliseconds(6));
    (void)world->scheduler().reachability().MustWait(*copy);
  }
  EXPECT_EQ(world->scheduler().residency().unmapped(), 0u);
}

TEST(Scenario, AnIdleProgramHasEverythingMapped) {
  const auto world = WithOneUnmapped();
  world->Pass(milliseconds(120));
  EXPECT_EQ(world->scheduler().residency().unmapped(), 0u);
}

TEST(Scenario, WorkThatMayTouchAnythingFindsEverythingMapped) {
  const auto world = WithOneUnmapped();
  const auto unknown = world->Kernel({}, microseconds(100));
  unknown->access = Access::kUnknown;
  world->SubmitAndReturn(unknown.get());
  EXPECT_FALSE(unknown->released);
  EXPECT_LE(world->UntilReleased(*unknown), milliseconds(1));
  EXPECT_EQ(world->scheduler().residency().unmapped(), 0u);
}

TEST(Scenario, AnAddressQueryHoldsRemapsBack) {
  Scripted world(4, 2);
  world.scheduler().reachability().QueryBegan();
  EXPECT_FALSE(world.scheduler().reachability().QueryMustWait());
  const auto held = world.Kernel({5}, microseconds(100));
  world.SubmitAndReturn(held.get());
  // The eviction that would make room is given up and begun again, which counts as progress. So it
  // takes as long as it takes to be starved.
  EXPECT_LE(world.UntilReleased(*held), 11 * kDeadline);
  EXPECT_EQ(world.remaps(), 0u) << "it is served in place instead";
  EXPECT_TRUE(world.scheduler().reachability().QueryEnded());
}

TEST(Scenario, ForeignWorkFindsNothingMoving) {
  Scripted world(4, 2);
  world.scheduler().work().ForeignWorkBegan(world.now());
  const auto held = world.Kernel({5}, microseconds(100));
  world.SubmitAndReturn(held.get());
  EXPECT_LE(world.UntilReleased(*held), kDeadline + milliseconds(1));
  EXPECT_EQ(world.scheduler().moves().counts().fetches, 0u);
  EXPECT_TRUE(world.scheduler().work().ForeignWorkEnded());
}

}  // namespace
}  // namespace vramspan::simulation
