// Tenants, processes and everybody drain: what they have of the device goes to others, or to
// nobody.
#include <gtest/gtest.h>

#include "tests/broker/machine.h"

namespace vramspan::broker {
namespace {

constexpr Duration kLong = std::chrono::seconds(20);

TEST(BrokerDrain, ATenantsMemoryGoesToTheOthers) {
  Machine machine(GiB(80));
  const ProcessId a = machine.Add(1, Guaranteed(GiB(30)));
  const ProcessId b = machine.Add(2);
  for (const ProcessId id : {a, b}) machine.Works(id, GiB(100));
  machine.Run(kLong);
  ASSERT_EQ(machine.Grant(a), GiB(40));
  machine.Tell(TenantDrains{TenantId(1), true});
  machine.Run(kLong);
  EXPECT_EQ(machine.Grant(a), GiB(0));
  EXPECT_EQ(machine.Grant(b), GiB(80));
  // What it had is on the host, and so is what it needs more.
  EXPECT_GE(machine.Host(a).grant, GiB(40));
  machine.Works(a, GiB(120));
  machine.Run(kLong);
  EXPECT_EQ(machine.Grant(a), GiB(0));
  machine.Tell(TenantDrains{TenantId(1), false});
  machine.Run(kLong);
  EXPECT_EQ(machine.Grant(a), GiB(40));
  EXPECT_EQ(machine.Grant(b), GiB(40));
}

TEST(BrokerDrain, NothingIsShortAndItIsRecalledAllTheSame) {
  Machine machine(GiB(80));
  const ProcessId a = machine.Add(1);
  machine.Works(a, GiB(10));
  machine.Run(kLong);
  machine.Tell(TenantDrains{TenantId(1), true});
  machine.Run(kLong);
  EXPECT_EQ(machine.Grant(a), GiB(0));
  // It is lent nothing either, though all is free.
  machine.Run(kLong);
  EXPECT_EQ(machine.Grant(a), GiB(0));
}

TEST(BrokerDrain, ItGoesInSlicesAndThePartsThatAreInUseStay) {
  Machine machine(GiB(8));
  const ProcessId a = machine.Add(1);
  machine.Works(a, GiB(8));
  const Actions actions = machine.Tell(TenantDrains{TenantId(1), true});
  const auto recalls = Only(actions, Action::Kind::kRecall);
  ASSERT_EQ(recalls.size(), 1u);
  EXPECT_EQ(recalls[0].bytes, MiB(256));
  machine.Answer(a, Acknowledges::Result::kPartial, MiB(200));
  // What it cannot give now is asked for again later, and nothing is ended.
  EXPECT_FALSE(machine.Recalled(a));
  machine.Pass(std::chrono::milliseconds(150));
  EXPECT_TRUE(machine.Recalled(a));
  EXPECT_EQ(machine.Grant(a), GiB(8) - MiB(200));
}

TEST(BrokerDrain, WhoComesIsToldThatItHasNothing) {
  Machine machine(GiB(80));
  const ProcessId b = machine.Add(2);
  machine.Tell(TenantAppears{TenantId(3), kRoot, Policy(), true});
  const Actions actions = machine.Tell(Joins{ProcessId(7), TenantId(3), {.wanted = {{GiB(4)}}}});
  const auto grants = Only(actions, Action::Kind::kGrant);
  ASSERT_FALSE(grants.empty());
  EXPECT_EQ(grants[0].place, Place::kDevice);
  EXPECT_EQ(grants[0].bytes, GiB(0));
  EXPECT_EQ(RefusalIn(actions), Refusal::kNone);
  machine.Pass(kLong);
  EXPECT_EQ(machine.Grant(ProcessId(7)), GiB(0));
  EXPECT_EQ(machine.Grant(b), GiB(80));
}

TEST(BrokerDrain, ProcessesAndTenantsInsideDrainToo) {
  Machine machine(GiB(80));
  machine.Tell(TenantAppears{TenantId(9), kRoot, Policy()});
  const ProcessId inside = machine.Add(1, Policy(), TenantId(9));
  const ProcessId two = machine.AddProcess(3, TenantId(1));
  const ProcessId other = machine.Add(2);
  for (const ProcessId id : {inside, two, other}) machine.Works(id, GiB(100));
  machine.Run(kLong);
  machine.Tell(ProcessDrains{two, true});
  machine.Run(kLong);
  EXPECT_EQ(machine.Grant(two), GiB(0));
  EXPECT_EQ(machine.Grant(inside), GiB(40));
  machine.Tell(TenantDrains{TenantId(9), true});
  machine.Run(kLong);
  EXPECT_EQ(machine.Grant(inside), GiB(0));
  EXPECT_EQ(machine.Grant(other), GiB(80));
  // Its own drain outlasts that of the tenant around it.
  machine.Tell(TenantDrains{TenantId(9), false});
  machine.Run(kLong);
  EXPECT_EQ(machine.Grant(two), GiB(0));
  EXPECT_EQ(machine.Grant(inside), GiB(40));
  machine.Tell(ProcessDrains{two, false});
  machine.Run(kLong);
  EXPECT_EQ(machine.Grant(two), GiB(20));
}

TEST(BrokerDrain, Everybody) {
  Machine machine(GiB(80));
  const ProcessId a = machine.Add(1), b = machine.Add(2);
  for (const ProcessId id : {a, b}) machine.Works(id, GiB(100));
  machine.Run(kLong);
  machine.Tell(TenantDrains{kRoot, true});
  machine.Run(kLong);
  EXPECT_EQ(machine.Grant(a), GiB(0));
  EXPECT_EQ(machine.Grant(b), GiB(0));
  machine.Tell(TenantDrains{kRoot, false});
  machine.Run(kLong);
  EXPECT_EQ(machine.Grant(a), GiB(40));
  EXPECT_EQ(machine.Grant(b), GiB(40));
}

TEST(BrokerDrain, WhoIsAdoptedKeepsWhatItHoldsUntilItIsRecalled) {
  Machine machine(GiB(80));
  machine.Tell(TenantAppears{TenantId(1), kRoot, Policy(), true});
  machine.Tell(Restarts{1});
  machine.Tell(Adopts{.process = ProcessId(1),
                      .tenant = TenantId(1),
                      .revision = Revision(4),
                      .grants = {{GiB(20), GiB(0)}},
                      .proven = {{GiB(20), GiB(0)}},
                      .said = {.used = {{GiB(20), GiB(0)}}}});
  EXPECT_EQ(machine.Grant(ProcessId(1)), GiB(20));
  EXPECT_TRUE(machine.Recalled(ProcessId(1)));
}

TEST(BrokerDrain, HostMemoryIsItsAsEver) {
  Machine machine(GiB(80));
  const ProcessId a = machine.Add(1);
  machine.Tell(TenantDrains{TenantId(1), true});
  machine.Pass(kLong);
  machine.Tell(Says{a, {.wanted = {{Bytes(), GiB(50)}}}});
  machine.Pass(kLong);
  EXPECT_GE(machine.Host(a).grant, GiB(50));
}

}  // namespace
}  // namespace vramspan::broker
