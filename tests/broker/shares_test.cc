// Who is due how much: weights, guarantees, limits, nesting, and those who do not answer.
#include <gtest/gtest.h>

#include "tests/broker/machine.h"

namespace vramspan::broker {
namespace {

constexpr Duration kLong = std::chrono::seconds(20);

TEST(BrokerShares, OneAloneHasEverything) {
  Machine machine(GiB(80));
  const ProcessId a = machine.Add(1);
  EXPECT_EQ(machine.Grant(a), GiB(80));
}

TEST(BrokerShares, TwoWhoWantEverythingHaveHalf) {
  Machine machine(GiB(80));
  const ProcessId a = machine.Add(1);
  machine.Works(a, GiB(100));
  const ProcessId b = machine.Add(2);
  machine.Works(b, GiB(100));
  machine.Run(kLong);
  EXPECT_EQ(machine.Grant(a), GiB(40));
  EXPECT_EQ(machine.Grant(b), GiB(40));
}

TEST(BrokerShares, WeightsGuaranteesAndLimits) {
  Machine machine(GiB(80));
  const ProcessId a = machine.Add(1, Weighs(300));
  const ProcessId b = machine.Add(2, Weighs(100));
  const ProcessId c = machine.Add(3, Guaranteed(GiB(20)));
  const ProcessId d = machine.Add(4, Limited(GiB(4)));
  for (const ProcessId id : {a, b, c, d}) machine.Works(id, GiB(100));
  machine.Run(kLong);
  // The rest is shared three to one.
  EXPECT_EQ(machine.Grant(a), GiB(42));
  EXPECT_EQ(machine.Grant(b), GiB(14));
  EXPECT_EQ(machine.Grant(c), GiB(20));
  EXPECT_EQ(machine.Grant(d), GiB(4));
}

TEST(BrokerShares, WhatOneDoesNotNeedTheOthersHave) {
  Machine machine(GiB(80));
  const ProcessId a = machine.Add(1);
  const ProcessId b = machine.Add(2);
  machine.Works(a, GiB(10));
  machine.Works(b, GiB(100));
  machine.Run(kLong);
  EXPECT_EQ(machine.Grant(b), GiB(70));
  // It is lent: whose it is by weight has it back when it wants it.
  machine.Works(a, GiB(100));
  machine.Run(kLong);
  EXPECT_EQ(machine.Grant(a), GiB(40));
  EXPECT_EQ(machine.Grant(b), GiB(40));
}

TEST(BrokerShares, WhatWasNeededLatelyIsKept) {
  Machine machine(GiB(80));
  const ProcessId a = machine.Add(1), b = machine.Add(2);
  machine.Works(a, GiB(30));
  machine.Works(b, GiB(50));
  machine.Run(std::chrono::seconds(20));
  machine.Works(a, GiB(10));
  machine.Works(b, GiB(70));
  const Duration window = machine.state().settings.demand_window;
  machine.Run(window - std::chrono::milliseconds(1));
  EXPECT_EQ(machine.Grant(a), GiB(30));
  EXPECT_EQ(machine.Grant(b), GiB(50));
  machine.Run(window + std::chrono::milliseconds(1));
  EXPECT_EQ(machine.Grant(b), GiB(70));
}

TEST(BrokerShares, MemoryUntouchedForLongIsLent) {
  Machine machine(GiB(80));
  const ProcessId a = machine.Add(1);
  machine.Works(a, GiB(8), GiB(60));
  const ProcessId b = machine.Add(2);
  machine.Works(b, GiB(50));
  machine.Run(kLong);
  EXPECT_EQ(machine.Grant(b), GiB(50));
  EXPECT_EQ(machine.Grant(a), GiB(30));
}

TEST(BrokerShares, ProcessesOfATenantShareWhatItHas) {
  Machine machine(GiB(80));
  const ProcessId a = machine.Add(1);
  const ProcessId b = machine.AddProcess(2, TenantId(1));
  const ProcessId c = machine.AddProcess(3, TenantId(1));
  const ProcessId d = machine.Add(4);
  for (const ProcessId id : {a, b, c, d}) machine.Works(id, GiB(100));
  machine.Run(kLong);
  EXPECT_EQ(machine.Grant(d), GiB(40));
  EXPECT_NEAR(static_cast<double>(machine.Grant(a).value), 40.0 / 3 * (1 << 30), 1);
}

TEST(BrokerShares, TenantsInsideShareWhatTheOneAroundHas) {
  Machine machine(GiB(80));
  Policy around = Weighs(100);
  around.limit[Place::kDevice] = GiB(32);
  machine.Tell(TenantAppears{TenantId(9), kRoot, around});
  const ProcessId a = machine.Add(1, Weighs(300), TenantId(9));
  const ProcessId b = machine.Add(2, Weighs(100), TenantId(9));
  const ProcessId c = machine.Add(3);
  for (const ProcessId id : {a, b, c}) machine.Works(id, GiB(100));
  machine.Run(kLong);
  EXPECT_EQ(machine.Grant(a), GiB(24));
  EXPECT_EQ(machine.Grant(b), GiB(8));
  EXPECT_EQ(machine.Grant(c), GiB(48));
}

TEST(BrokerShares, StoppingAProcessBringsItsTenantNothing) {
  Machine machine(GiB(80));
  const ProcessId a = machine.Add(1);
  machine.Works(a, GiB(30));
  const ProcessId b = machine.Add(2);
  machine.Works(b, GiB(100));
  machine.Run(kLong);
  machine.Tell(IsStuck{a});
  const ProcessId second = machine.AddProcess(3, TenantId(1));
  machine.Works(second, GiB(100));
  machine.Run(kLong);
  EXPECT_EQ(machine.Grant(a), GiB(30));
  EXPECT_EQ(machine.Grant(second), GiB(10));
  EXPECT_EQ(machine.Grant(b), GiB(40));
}

TEST(BrokerShares, TheReserveIsGrantedToNobody) {
  Machine machine(GiB(80), Settings());
  const ProcessId a = machine.Add(1);
  EXPECT_EQ(machine.Grant(a), GiB(80) - PartOf(GiB(80), 2, 100));
  Machine small(GiB(8), Settings());
  EXPECT_EQ(small.Grant(small.Add(1)), GiB(7));
}

TEST(BrokerShares, GuaranteesThatNoLongerFitShrinkInProportion) {
  Machine machine(GiB(80));
  const ProcessId a = machine.Add(1, Guaranteed(GiB(40)));
  const ProcessId b = machine.Add(2, Guaranteed(GiB(20)));
  machine.Works(a, GiB(100));
  machine.Works(b, GiB(100));
  machine.Run(kLong);
  machine.Tell(ForeignIs{Place::kDevice, GiB(50)});
  machine.Run(kLong);
  EXPECT_EQ(machine.Grant(a), GiB(20));
  EXPECT_EQ(machine.Grant(b), GiB(10));
}

TEST(BrokerShares, ALoweredLimitIsRecalledThoughNobodyIsShort) {
  Machine machine(GiB(80));
  const ProcessId a = machine.Add(1);
  machine.Works(a, GiB(60));
  machine.Run(kLong);
  machine.Tell(PolicyChanges{TenantId(1), Limited(GiB(16))});
  machine.Run(kLong);
  EXPECT_EQ(machine.Grant(a), GiB(16));
}

// What one gives back inside of a limit the other gets, and never more than the limit is granted.
TEST(BrokerShares, ALimitHoldsWhileMemoryChangesHandsInside) {
  Machine machine(GiB(80));
  const ProcessId a = machine.Add(1, Limited(GiB(15)));
  machine.Works(a, GiB(15));
  machine.Run(kLong);
  const ProcessId b = machine.AddProcess(2, TenantId(1));
  const ProcessId c = machine.AddProcess(3, TenantId(1));
  machine.Works(b, GiB(20));
  machine.Works(c, GiB(20));
  for (int i = 0; i < 1000; ++i) {
    machine.Run(std::chrono::milliseconds(1));
    ASSERT_LE(machine.Grant(a) + machine.Grant(b) + machine.Grant(c), GiB(15));
  }
  for (const ProcessId id : {a, b, c}) EXPECT_EQ(machine.Grant(id), GiB(5));
}

TEST(BrokerShares, AnOverrunCostsWhatWasLent) {
  Machine machine(GiB(80));
  const ProcessId a = machine.Add(1);
  const ProcessId b = machine.Add(2);
  machine.Works(a, GiB(70));
  machine.Works(b, GiB(5));
  machine.Run(kLong);
  EXPECT_EQ(
      Only(machine.Tell(Measured{a, machine.Grant(a) + MiB(200)}), Action::Kind::kOverrun).size(),
      0u);
  machine.Run(kLong);
  // Contexts, and the most that no context takes.
  const Bytes over = machine.Grant(a) + GiB(3);
  const Actions actions = machine.Tell(Measured{a, over});
  ASSERT_EQ(Only(actions, Action::Kind::kOverrun).size(), 1u);
  EXPECT_GT(Only(actions, Action::Kind::kOverrun)[0].bytes, MiB(500));
  machine.Run(kLong);
  // Half of everything, with what it took.
  EXPECT_EQ(Held(machine.At(a), Place::kDevice), GiB(40));
  EXPECT_EQ(Only(machine.Tell(Measured{a, machine.Grant(a)}), Action::Kind::kOverrun).size(), 1u);
  machine.Run(kLong);
  EXPECT_EQ(machine.Grant(a), GiB(70));
}

// More processes beside the tenants inside bring the one around no more.
TEST(BrokerShares, ProcessesBesideTenantsAreOneAmongThem) {
  Machine machine(GiB(80));
  const ProcessId inside = machine.Add(1);
  const ProcessId child = machine.Add(2, Policy(), TenantId(1));
  machine.Works(inside, GiB(100));
  machine.Works(child, GiB(100));
  for (uint64_t id = 10; id < 18; ++id) {
    machine.Works(machine.AddProcess(id, TenantId(1)), GiB(100));
  }
  machine.Run(kLong);
  EXPECT_EQ(machine.Grant(child), GiB(40));
  EXPECT_EQ(PlainShare(machine.state(), machine.At(child), Place::kDevice), GiB(40));
}

}  // namespace
}  // namespace vramspan::broker
