// Who is given memory, when, and who is not: winners, gathering, rest and hysteresis.
#include <gtest/gtest.h>

#include "tests/broker/machine.h"

namespace vramspan::broker {
namespace {

using Kind = Action::Kind;
constexpr Duration kMillisecond = std::chrono::milliseconds(1);

// Two of 2 GiB and 1 want more; a third has more than it is due, and does not answer yet. What
// comes free lifts the least first.
TEST(BrokerGrants, TheWinnerIsWhoHasLeastForItsWeight) {
  Machine machine(GiB(10));
  machine.Tell(ForeignIs{Place::kDevice, GiB(2)});
  const ProcessId a = machine.Add(1), b = machine.Add(2), c = machine.Add(3);
  machine.Works(a, GiB(2));
  machine.Works(b, GiB(1));
  machine.Works(c, GiB(5));
  machine.Run(std::chrono::seconds(5));
  machine.Works(a, GiB(100));
  machine.Works(b, GiB(100));
  ASSERT_TRUE(machine.Recalled(c));
  machine.Tell(ForeignIs{Place::kDevice, Bytes()});
  machine.Pass(machine.state().settings.gather);
  EXPECT_EQ(machine.Grant(a), GiB(2) + MiB(512));
  EXPECT_EQ(machine.Grant(b), GiB(2) + MiB(512));
}

TEST(BrokerGrants, WeightsCountForWinners) {
  Machine machine(GiB(10));
  machine.Tell(ForeignIs{Place::kDevice, GiB(2)});
  const ProcessId a = machine.Add(1, Weighs(300)), b = machine.Add(2), c = machine.Add(3);
  machine.Works(a, GiB(2));
  machine.Works(b, GiB(1));
  machine.Works(c, GiB(5));
  machine.Run(std::chrono::seconds(5));
  machine.Works(a, GiB(100));
  machine.Works(b, GiB(100));
  ASSERT_TRUE(machine.Recalled(c));
  machine.Tell(ForeignIs{Place::kDevice, Bytes()});
  machine.Pass(machine.state().settings.gather);
  // 3 GiB for 300 are as much as 1 for 100. Behind that three slices go for one.
  EXPECT_GE(machine.Grant(a), GiB(3) + MiB(512));
  EXPECT_LE(machine.Grant(b), GiB(1) + MiB(512));
}

// The weight of another does not make a guarantee wait.
TEST(BrokerGrants, GuaranteesWinBeforeWeights) {
  Machine machine(GiB(10));
  const ProcessId a = machine.Add(1);
  machine.Works(a, GiB(10));
  const ProcessId b = machine.Add(2, Weighs(kMostWeight));
  Policy policy = Guaranteed(MiB(200));
  policy.weight = 1;
  const ProcessId c = machine.Add(3, policy);
  machine.Works(b, GiB(10));
  machine.Works(c, GiB(10));
  machine.Answer(a);
  EXPECT_EQ(machine.Grant(c), MiB(200));
  EXPECT_EQ(machine.Grant(b), MiB(56));
}

// Both are inside of the same guarantee. One has its own beside.
TEST(BrokerGrants, TheInnermostGuaranteeWinsFirst) {
  Machine machine(GiB(10), Bytes());
  machine.Works(machine.Add(1), GiB(8));
  machine.Run(std::chrono::seconds(20));
  machine.Tell(TenantAppears{TenantId(2), kRoot, Guaranteed(GiB(6))});
  const ProcessId heavy = machine.Add(3, Weighs(kMostWeight), TenantId(2));
  const ProcessId inside = machine.Add(4, Guaranteed(GiB(2)), TenantId(2));
  machine.Works(heavy, GiB(100));
  machine.Works(inside, GiB(100));
  // The first has nowhere to evict to, and gives the 2 GiB alone that it did not use.
  machine.Run(kMillisecond);
  EXPECT_EQ(machine.Grant(inside), GiB(2));
  EXPECT_EQ(machine.Grant(heavy), Bytes());
}

TEST(BrokerGrants, WhatComesFreeIsGatheredAndGivenOnce) {
  Machine machine(GiB(10));
  const ProcessId a = machine.Add(1);
  machine.Tell(ForeignIs{Place::kDevice, GiB(6)});
  machine.Works(a, GiB(10));
  machine.Run(std::chrono::seconds(5));
  ASSERT_EQ(machine.Grant(a), GiB(4));
  const Duration gather = machine.state().settings.gather;
  machine.Tell(ForeignIs{Place::kDevice, GiB(5)});
  machine.Pass(gather - kMillisecond);
  machine.Tell(ForeignIs{Place::kDevice, GiB(3)});
  EXPECT_EQ(machine.Grant(a), GiB(4));
  machine.Pass(kMillisecond);
  EXPECT_EQ(machine.Grant(a), GiB(7));
}

TEST(BrokerGrants, AGiverRestsForTwiceItsMove) {
  Machine machine(GiB(8));
  const ProcessId a = machine.Add(1);
  machine.Works(a, GiB(8));
  const ProcessId b = machine.Add(2);
  machine.Works(b, MiB(256));
  ASSERT_TRUE(machine.Recalled(a));
  machine.Pass(10 * kMillisecond);
  machine.Answer(a);
  ASSERT_EQ(machine.Grant(b), MiB(256));
  // The newcomer is gone at once: what was recalled for it is free.
  machine.Tell(Dies{b});
  machine.Tell(BytesGone{b});
  machine.state().pools[Place::kDevice].gather_until = machine.now();
  machine.Pass(20 * kMillisecond - kMillisecond);
  machine.Tell(TimePasses{});
  EXPECT_EQ(machine.Grant(a), GiB(8) - MiB(256));
  machine.Pass(kMillisecond);
  EXPECT_EQ(machine.Grant(a), GiB(8));
}

TEST(BrokerGrants, AGuaranteeDoesNotRest) {
  Machine machine(GiB(8));
  const ProcessId a = machine.Add(1);
  machine.Works(a, GiB(8));
  const ProcessId b = machine.Add(2);
  machine.Works(b, GiB(4));
  machine.Pass(std::chrono::milliseconds(200));
  machine.Answer(a);
  ASSERT_GT(machine.Device(a).rest_until, machine.now());
  machine.Pass(machine.state().settings.deadline);
  machine.Tell(PolicyChanges{TenantId(1), Guaranteed(GiB(8))});
  machine.Tell(Dies{b});
  machine.Tell(BytesGone{b});
  ASSERT_GT(machine.Device(a).rest_until, machine.now());
  machine.Answer(a, Acknowledges::Result::kDeferred);
  machine.Speak(a);
  machine.Pass(machine.state().settings.gather);
  EXPECT_EQ(machine.Grant(a), GiB(8));
}

// What another is to get later is lent to nobody before: it would have to be recalled.
TEST(BrokerGrants, NothingIsLentWhileSomebodyIsShort) {
  Machine machine(GiB(80));
  const ProcessId a = machine.Add(1);
  machine.Works(a, GiB(80));
  const ProcessId b = machine.Add(2);
  machine.Works(b, MiB(256));
  machine.Pass(200 * kMillisecond);
  machine.Answer(a);
  machine.Speak(a);
  machine.Speak(b);
  machine.Tell(CapacityIs{Place::kDevice, GiB(80) + MiB(512)});
  machine.Pass(100 * kMillisecond);
  ASSERT_GT(machine.Device(a).rest_until, machine.now());
  EXPECT_EQ(machine.Grant(b), MiB(256));
  machine.Run(std::chrono::seconds(1));
  EXPECT_GE(machine.Grant(a), GiB(80));
}

TEST(BrokerGrants, ALittleShortageWaitsAndIsServedInTheEnd) {
  Machine machine(GiB(80));
  const ProcessId a = machine.Add(1), b = machine.Add(2);
  machine.Works(a, GiB(50));
  machine.Works(b, GiB(30));
  machine.Run(std::chrono::seconds(20));
  ASSERT_EQ(machine.Grant(b), GiB(30));
  // Below 2 % of the share.
  EXPECT_TRUE(Only(machine.Works(b, GiB(30) + MiB(300)), Kind::kRecall).empty());
  machine.Pass(machine.state().settings.patience - kMillisecond);
  EXPECT_FALSE(machine.Recalled(a));
  machine.Pass(kMillisecond);
  EXPECT_TRUE(machine.Recalled(a));
}

TEST(BrokerGrants, MuchShortageIsServedAtOnceAndALittleBelowTheGuaranteeToo) {
  Machine machine(GiB(80));
  const ProcessId a = machine.Add(1), b = machine.Add(2), c = machine.Add(3, Guaranteed(GiB(1)));
  machine.Works(a, GiB(50));
  machine.Works(b, GiB(29));
  machine.Works(c, GiB(1) - MiB(10));
  machine.Run(std::chrono::seconds(20));
  EXPECT_FALSE(Only(machine.Works(b, GiB(30)), Kind::kRecall).empty());
  machine.Run(std::chrono::seconds(20));
  EXPECT_FALSE(Only(machine.Works(c, GiB(1)), Kind::kRecall).empty());
}

TEST(BrokerGrants, LessThanAChunkIsNoShortage) {
  Machine machine(GiB(8));
  const ProcessId a = machine.Add(1), b = machine.Add(2);
  machine.Works(a, GiB(7));
  machine.Works(b, GiB(1));
  machine.Run(std::chrono::seconds(5));
  machine.Works(b, GiB(1) + MiB(1));
  machine.Pass(std::chrono::minutes(1));
  EXPECT_FALSE(machine.Recalled(a));
}

TEST(BrokerGrants, TurnsToFetchGoRound) {
  Machine machine(GiB(8));
  const ProcessId a = machine.Add(1), b = machine.Add(2);
  Said said;
  said.wanted[Place::kDevice] = GiB(4);
  machine.Tell(Says{a, said});
  EXPECT_EQ(machine.state().fetch.holder, a);
  machine.Tell(Says{b, said});
  machine.Pass(machine.state().settings.fetch_turn);
  EXPECT_EQ(machine.state().fetch.holder, a) << "the second has nothing granted yet";
  machine.Run(std::chrono::seconds(5));
  machine.Tell(Says{a, said});
  machine.Tell(Says{b, said});
  const ProcessId first = machine.state().fetch.holder;
  machine.Pass(machine.state().settings.fetch_turn);
  const ProcessId second = machine.state().fetch.holder;
  machine.Pass(machine.state().settings.fetch_turn);
  EXPECT_NE(first, second);
  EXPECT_EQ(machine.state().fetch.holder, first);
  machine.Tell(Says{first, {}});
  EXPECT_EQ(machine.state().fetch.holder, second);
}

TEST(BrokerRooms, AContextHasTheReserve) {
  Machine machine(GiB(80), Settings());
  const ProcessId a = machine.Add(1);
  machine.Works(a, GiB(80));
  const ProcessId b = machine.Add(2);
  const Bytes before = machine.Grant(a);
  EXPECT_EQ(Only(machine.Tell(WantsRoom{b, MiB(500)}), Kind::kRoom).size(), 1u);
  EXPECT_EQ(machine.At(b).room, MiB(500));
  EXPECT_EQ(machine.Grant(a), before);
  // The reserve is filled again.
  machine.Run(std::chrono::seconds(1));
  EXPECT_EQ(machine.Grant(a), before - MiB(500));
  machine.Tell(ReturnsRoom{b, GiB(1)});
  EXPECT_EQ(machine.At(b).room, Bytes());
  machine.Run(std::chrono::seconds(3));
  EXPECT_EQ(machine.Grant(a), before);
}

TEST(BrokerRooms, WhoFindsNoRoomWaitsForASecondAtMost) {
  Machine machine(GiB(8));
  const ProcessId a = machine.Add(1);
  machine.Works(a, GiB(8));
  const ProcessId b = machine.Add(2);
  EXPECT_TRUE(Only(machine.Tell(WantsRoom{b, MiB(500)}), Kind::kRoom).empty());
  EXPECT_TRUE(machine.Recalled(a));
  EXPECT_EQ(RefusalIn(machine.Tell(WantsRoom{b, MiB(500)})), Refusal::kBusy);
  machine.Pass(std::chrono::seconds(1) - kMillisecond);
  EXPECT_TRUE(machine.At(b).room_wish);
  machine.Pass(kMillisecond);
  EXPECT_FALSE(machine.At(b).room_wish);
  EXPECT_EQ(machine.At(b).room, Bytes());
}

TEST(BrokerRooms, RoomComesFromWhoHasMore) {
  Machine machine(GiB(8));
  const ProcessId a = machine.Add(1);
  machine.Works(a, GiB(8));
  const ProcessId b = machine.Add(2);
  machine.Tell(WantsRoom{b, MiB(500)});
  machine.Run(std::chrono::milliseconds(500));
  EXPECT_EQ(machine.At(b).room, MiB(500));
  EXPECT_EQ(machine.Grant(a), GiB(8) - MiB(500));
}

TEST(BrokerRooms, RoomGoesByWeight) {
  Machine machine(GiB(2));
  const ProcessId a = machine.Add(1, Weighs(300)), b = machine.Add(2, Weighs(100));
  EXPECT_EQ(RefusalIn(machine.Tell(WantsRoom{a, MiB(1536) + Bytes(1)})), Refusal::kShare);
  EXPECT_EQ(RefusalIn(machine.Tell(WantsRoom{b, MiB(512) + Bytes(1)})), Refusal::kShare);
  EXPECT_EQ(RefusalIn(machine.Tell(WantsRoom{a, MiB(1536)})), Refusal::kNone);
  EXPECT_EQ(RefusalIn(machine.Tell(WantsRoom{b, MiB(512)})), Refusal::kNone);
}

TEST(BrokerRooms, RoomsStayWithinTheLimitsAround) {
  Machine machine(GiB(8));
  machine.Tell(TenantAppears{TenantId(9), kRoot, Limited(GiB(2))});
  const ProcessId a = machine.Add(1, Policy(), TenantId(9));
  const ProcessId b = machine.Add(2, Policy(), TenantId(9));
  EXPECT_EQ(RefusalIn(machine.Tell(WantsRoom{a, GiB(1)})), Refusal::kNone);
  EXPECT_EQ(RefusalIn(machine.Tell(WantsRoom{b, GiB(1) + Bytes(1)})), Refusal::kShare);
  EXPECT_EQ(RefusalIn(machine.Tell(WantsRoom{b, GiB(1)})), Refusal::kNone);
}

TEST(BrokerRooms, RoomIsNoWayRoundTheShare) {
  Machine machine(GiB(4));
  const ProcessId a = machine.Add(1);
  machine.Add(2);
  EXPECT_EQ(RefusalIn(machine.Tell(WantsRoom{a, GiB(2) + MiB(1)})), Refusal::kShare);
  EXPECT_EQ(RefusalIn(machine.Tell(WantsRoom{a, kAllBytes})), Refusal::kShare);
  machine.Tell(WantsRoom{a, MiB(1536)});
  EXPECT_EQ(RefusalIn(machine.Tell(WantsRoom{a, MiB(1)})), Refusal::kBusy);
  machine.Run(std::chrono::milliseconds(100));
  ASSERT_EQ(machine.At(a).room, MiB(1536));
  EXPECT_EQ(RefusalIn(machine.Tell(WantsRoom{a, GiB(1)})), Refusal::kShare);
  // Its context is part of what it is due.
  machine.Works(a, GiB(100));
  machine.Works(ProcessId(2), GiB(100));
  machine.Run(std::chrono::seconds(5));
  EXPECT_EQ(machine.Grant(a), MiB(512));
}

// Rooms are never recalled: who is alone takes no more than contexts need.
TEST(BrokerRooms, RoomIsForContextsThoughNobodyElseIsThere) {
  Machine machine(GiB(80));
  const ProcessId a = machine.Add(1);
  EXPECT_EQ(RefusalIn(machine.Tell(WantsRoom{a, GiB(80)})), Refusal::kShare);
  EXPECT_EQ(RefusalIn(machine.Tell(WantsRoom{a, GiB(2)})), Refusal::kNone);
  machine.Run(std::chrono::seconds(1));
  ASSERT_EQ(machine.At(a).room, GiB(2));
  EXPECT_EQ(RefusalIn(machine.Tell(WantsRoom{a, Bytes(1)})), Refusal::kShare);
  // More processes do not help.
  for (uint64_t id = 2; id <= 5; ++id) {
    const ProcessId other = machine.AddProcess(id, TenantId(1));
    EXPECT_EQ(RefusalIn(machine.Tell(WantsRoom{other, GiB(2)})),
              id < 5 ? Refusal::kNone : Refusal::kShare);
  }
  machine.Run(std::chrono::seconds(1));
  const ProcessId b = machine.Add(9, Guaranteed(GiB(72)));
  machine.Works(b, GiB(80));
  machine.Run(std::chrono::seconds(10));
  EXPECT_EQ(machine.Grant(b), GiB(72));
}

TEST(BrokerRooms, RoomsLeaveGuaranteesAloneThoughNobodyIsThereForThem) {
  Machine machine(GiB(80));
  const ProcessId a = machine.Add(1, Guaranteed(MiB(256)));
  machine.Tell(TenantAppears{TenantId(2), kRoot, Guaranteed(GiB(79))});
  EXPECT_EQ(RefusalIn(machine.Tell(WantsRoom{a, GiB(1) + Bytes(1)})), Refusal::kShare);
  EXPECT_EQ(RefusalIn(machine.Tell(WantsRoom{a, GiB(1)})), Refusal::kNone);
  machine.Run(std::chrono::seconds(1));
  // Inside of a tenant as well.
  machine.Tell(TenantAppears{TenantId(3), TenantId(2), Guaranteed(GiB(78))});
  const ProcessId b = machine.Add(4, Policy(), TenantId(2));
  EXPECT_EQ(RefusalIn(machine.Tell(WantsRoom{b, GiB(1) + Bytes(1)})), Refusal::kShare);
  EXPECT_EQ(RefusalIn(machine.Tell(WantsRoom{b, GiB(1)})), Refusal::kNone);
}

TEST(BrokerRooms, RoomByTurnsMovesNothing) {
  Machine machine(GiB(80));
  const ProcessId a = machine.Add(1), b = machine.Add(2);
  machine.Works(a, GiB(100));
  machine.Run(std::chrono::seconds(5));
  for (int i = 0; i < 1000; ++i) {
    machine.Tell(WantsRoom{b, GiB(1)});
    machine.Run(100 * kMillisecond);
    machine.Tell(ReturnsRoom{b, GiB(1)});
    machine.Run(100 * kMillisecond);
  }
  EXPECT_LE(machine.recalled(), GiB(1));
  machine.Run(std::chrono::seconds(5));
  EXPECT_EQ(machine.Grant(a), GiB(80));
}

}  // namespace
}  // namespace vramspan::broker
