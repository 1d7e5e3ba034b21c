// Who is asked to give memory back, and in which order.
#include <gtest/gtest.h>

#include "tests/broker/machine.h"

namespace vramspan::broker {
namespace {

using Kind = Action::Kind;
// Behind this nobody remembers what was needed before.
constexpr Duration kForgotten = 2 * Settings().demand_window;

class BrokerLadder : public testing::Test {
 protected:
  // Three on 12 GiB: they use all of it, so much each.
  void Use(Bytes a, Bytes b, Bytes c) {
    const Bytes most[] = {a, b, c};
    for (uint64_t i = 0; i < 3; ++i) {
      if (!machine_.state().tenants.contains(TenantId(i + 1))) machine_.Add(i + 1);
      machine_.Works(ProcessId(i + 1), most[i]);
    }
    machine_.Run(std::chrono::seconds(10));
    ASSERT_EQ(machine_.Grant(ProcessId(1)), a);
    ASSERT_EQ(machine_.Grant(ProcessId(2)), b);
    ASSERT_EQ(machine_.Grant(ProcessId(3)), c);
  }
  Said SaidOf(uint64_t id) const { return machine_.At(ProcessId(id)).said; }
  // A newcomer wants so much. Who is asked?
  std::vector<Action> Recalls(Bytes wanted, uint64_t id = 9) {
    if (!machine_.state().tenants.contains(TenantId(id))) machine_.Add(id);
    return Only(machine_.Works(ProcessId(id), wanted), Kind::kRecall);
  }
  Machine machine_{GiB(12)};
};

TEST_F(BrokerLadder, TheVictimIsWhoUsesMost) {
  Use(GiB(3), GiB(5), GiB(4));
  const auto recalls = Recalls(GiB(1));
  ASSERT_EQ(recalls.size(), 1u);
  EXPECT_EQ(recalls[0].process, ProcessId(2));
}

TEST_F(BrokerLadder, TheVictimIsWhoUsesMostForItsWeight) {
  machine_.Add(1, Weighs(100));
  machine_.Add(2, Weighs(400));
  Use(GiB(4), GiB(8), Bytes());
  // Both have more than they are due now. 4 GiB for 100 are more than 8 for 400.
  machine_.Add(9, Weighs(400));
  const auto recalls = Recalls(GiB(12));
  ASSERT_EQ(recalls.size(), 1u);
  EXPECT_EQ(recalls[0].process, ProcessId(1));
}

TEST_F(BrokerLadder, BatchGivesFirstAndLatencyLast) {
  machine_.Add(1, {.klass = Class::kLatency});
  machine_.Add(2, {.klass = Class::kNormal});
  machine_.Add(3, {.klass = Class::kBatch});
  Use(GiB(4) + MiB(300), GiB(4), GiB(4) - MiB(300));
  const auto recalls = Recalls(GiB(3));
  ASSERT_EQ(recalls.size(), 1u);
  EXPECT_EQ(recalls[0].process, ProcessId(3));
}

TEST_F(BrokerLadder, WhatIsNotUsedComesFirstAndAtOnce) {
  Use(GiB(3), GiB(5), GiB(4));
  // The third gave its memory back to its pool, and kept the grant.
  Said said = SaidOf(3);
  said.used[Place::kDevice] = GiB(1);
  machine_.Tell(Says{ProcessId(3), said});
  machine_.Pass(kForgotten);
  const auto recalls = Recalls(GiB(2));
  ASSERT_EQ(recalls.size(), 1u);
  EXPECT_EQ(recalls[0].process, ProcessId(3));
  EXPECT_EQ(recalls[0].bytes, GiB(2));
  EXPECT_EQ(recalls[0].copied, Bytes());
}

TEST_F(BrokerLadder, CachedThenCleanThenIdleThenVictims) {
  Use(GiB(3), GiB(5), GiB(4));
  Said cached = SaidOf(1), clean = SaidOf(2), idle = SaidOf(3);
  cached.cached = MiB(100);
  clean.clean = MiB(300);
  idle.cold = GiB(4);
  machine_.Tell(Says{ProcessId(1), cached});
  machine_.Tell(Says{ProcessId(2), clean});
  machine_.Tell(Says{ProcessId(3), idle});
  machine_.Pass(kForgotten);
  const auto recalls = Recalls(GiB(8));
  // The cached and the clean cost nobody the link; the idle one copies.
  ASSERT_EQ(recalls.size(), 3u);
  EXPECT_EQ(recalls[0].process, ProcessId(1));
  EXPECT_EQ(recalls[0].bytes, MiB(100));
  EXPECT_EQ(recalls[1].process, ProcessId(2));
  EXPECT_EQ(recalls[1].copied, Bytes());
  EXPECT_EQ(recalls[2].process, ProcessId(3));
  EXPECT_EQ(recalls[2].copied, MiB(256));
}

TEST_F(BrokerLadder, NobodyGoesBelowItsDueForAnother) {
  Use(GiB(3), GiB(5), GiB(4));
  Recalls(GiB(100));
  machine_.Run(std::chrono::seconds(10));
  for (const uint64_t id : {1, 2, 3, 9}) EXPECT_EQ(machine_.Grant(ProcessId(id)), GiB(3));
}

TEST_F(BrokerLadder, OneEvictsAtATime) {
  Use(GiB(3), GiB(5), GiB(4));
  EXPECT_EQ(Recalls(GiB(3)).size(), 1u);
  EXPECT_EQ(machine_.state().evict.holder, ProcessId(2));
  const Actions actions = machine_.Answer(ProcessId(2));
  EXPECT_EQ(Only(actions, Kind::kRecall).size(), 1u);
  // It is the next victim as well, and keeps the turn.
  EXPECT_TRUE(Only(actions, Kind::kTakeTurn).empty());
}

TEST_F(BrokerLadder, ASlowVictimDoesNotHoldTheOthersUp) {
  Use(GiB(3), GiB(5), GiB(4));
  Recalls(GiB(3));
  ASSERT_EQ(machine_.state().evict.holder, ProcessId(2));
  const Duration turn = machine_.state().settings.evict_turn;
  machine_.Pass(turn - std::chrono::milliseconds(1));
  EXPECT_FALSE(machine_.Recalled(ProcessId(3)));
  machine_.Pass(std::chrono::milliseconds(1));
  EXPECT_TRUE(machine_.Recalled(ProcessId(3)));
  EXPECT_EQ(machine_.state().evict.holder, ProcessId(3));
  // The slow one's answer counts as ever. Its next slice waits for the turn.
  machine_.Answer(ProcessId(2));
  EXPECT_EQ(machine_.Grant(ProcessId(2)), GiB(5) - MiB(256));
  EXPECT_FALSE(machine_.Recalled(ProcessId(2)));
}

TEST_F(BrokerLadder, WhoHasNoRoomOnTheHostIsNotAsked) {
  machine_.Tell(CapacityIs{Place::kHost, Bytes()});
  machine_.Pass(std::chrono::seconds(1));
  for (uint64_t id = 1; id <= 3; ++id) machine_.Add(id);
  machine_.Run(std::chrono::seconds(1));
  machine_.Works(ProcessId(1), GiB(12));
  machine_.Run(std::chrono::seconds(1));
  ASSERT_EQ(machine_.Grant(ProcessId(1)), GiB(12));
  EXPECT_TRUE(Recalls(GiB(1)).empty());
  // Memory that lies on nobody's chunk needs none.
  Said said = SaidOf(1);
  said.used[Place::kDevice] = GiB(11);
  EXPECT_EQ(Only(machine_.Tell(Says{ProcessId(1), said}), Kind::kRecall).size(), 1u);
}

TEST_F(BrokerLadder, HostMemoryThatNobodyUsesIsRecalledForAVictim) {
  machine_.Tell(CapacityIs{Place::kHost, GiB(8)});
  machine_.Pass(std::chrono::seconds(1));
  machine_.Add(1);
  const ProcessId hoarder = machine_.Add(2);
  Said said;
  said.wanted[Place::kHost] = GiB(100);
  machine_.Tell(Says{hoarder, said});
  machine_.Works(ProcessId(1), GiB(12));
  machine_.Run(std::chrono::seconds(1));
  machine_.Tell(Says{hoarder, said});
  machine_.Run(std::chrono::seconds(1));
  machine_.Add(9);
  machine_.Works(ProcessId(9), GiB(4));
  machine_.Run(std::chrono::seconds(5));
  EXPECT_EQ(machine_.Grant(ProcessId(9)), GiB(4));
}

TEST_F(BrokerLadder, LessThanASliceIsFilledUpWithWhatIsCopied) {
  Use(GiB(3), GiB(6), GiB(3));
  Said said = SaidOf(2);
  said.cached = MiB(4);
  said.clean = MiB(50);
  machine_.Tell(Says{ProcessId(2), said});
  const auto recalls = Recalls(GiB(2));
  ASSERT_EQ(recalls.size(), 1u);
  EXPECT_EQ(recalls[0].process, ProcessId(2));
  EXPECT_EQ(recalls[0].bytes, MiB(256));
  EXPECT_EQ(recalls[0].copied, MiB(202));
}

TEST_F(BrokerLadder, WhoIsToCopyForItsSliceComesBehindWhoIsIdle) {
  Use(GiB(3), GiB(5), GiB(4));
  Said clean = SaidOf(2), idle = SaidOf(3);
  clean.clean = MiB(200);
  idle.cold = GiB(4);
  machine_.Tell(Says{ProcessId(2), clean});
  machine_.Tell(Says{ProcessId(3), idle});
  machine_.Pass(kForgotten);
  const auto recalls = Recalls(GiB(8));
  ASSERT_EQ(recalls.size(), 2u);
  EXPECT_EQ(recalls[0].process, ProcessId(3));
  EXPECT_EQ(recalls[0].copied, MiB(256));
  // The link is taken. What need not be copied is given all the same.
  EXPECT_EQ(recalls[1].process, ProcessId(2));
  EXPECT_EQ(recalls[1].bytes, MiB(200));
  EXPECT_EQ(recalls[1].copied, Bytes());
}

}  // namespace
}  // namespace vramspan::broker
