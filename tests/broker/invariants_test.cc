// An invariant that nothing can break says nothing: each is broken once by hand.
#include "tools/broker/core/invariants.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/broker/machine.h"

namespace vramspan::broker {
namespace {

using testing::HasSubstr;

// The first has all of the device, and was asked for a slice of it by the second.
class BrokerInvariants : public testing::Test {
 protected:
  BrokerInvariants() : machine_(GiB(8)) {
    machine_.Works(machine_.Add(1), GiB(8));
    machine_.Works(machine_.Add(2, Guaranteed(GiB(4))), GiB(4));
  }
  Process& At(uint64_t id) { return machine_.state().processes.at(ProcessId(id)); }
  Lease& Device(uint64_t id) { return At(id).leases[Place::kDevice]; }
  std::string Broken() { return BrokenInvariant(machine_.state()); }
  Machine machine_;
};

TEST_F(BrokerInvariants, HoldAtFirst) { EXPECT_EQ(Broken(), ""); }

TEST_F(BrokerInvariants, MoreIsGrantedThanThereIs) {
  Device(2).grant += Bytes(1);
  EXPECT_THAT(Broken(), HasSubstr("I1: device"));
}

TEST_F(BrokerInvariants, MoreIsHeldThanThereIs) {
  At(2).measured = Bytes(1);
  EXPECT_THAT(Broken(), HasSubstr("I1: device"));
}

TEST_F(BrokerInvariants, MoreHostMemoryIsGrantedThanThereIs) {
  At(2).leases[Place::kHost].grant += GiB(1000);
  EXPECT_THAT(Broken(), HasSubstr("I1: host"));
}

TEST_F(BrokerInvariants, ForeignGrowthIsExcusedAndNoMore) {
  machine_.Tell(ForeignIs{Place::kDevice, GiB(1)});
  EXPECT_EQ(Broken(), "");
  At(2).room = Bytes(1);
  EXPECT_THAT(Broken(), HasSubstr("I1: device"));
}

TEST_F(BrokerInvariants, SomebodyCouldBeAskedAndWasNot) {
  Device(1).recall.reset();
  At(1).state = LeaseState::kSteady;
  EXPECT_THAT(Broken(), HasSubstr("I2: "));
}

TEST_F(BrokerInvariants, AGuaranteeIsLateByMoreThanItsBound) {
  Tenant& tenant = machine_.state().tenants.at(TenantId(2));
  ASSERT_TRUE(tenant.short_since);
  tenant.short_since = machine_.now() - GuaranteeBound(machine_.state());
  EXPECT_EQ(Broken(), "");
  *tenant.short_since -= std::chrono::nanoseconds(1);
  EXPECT_THAT(Broken(), HasSubstr("I2: tenant 2"));
}

// Targets are the core's own work.
TEST_F(BrokerInvariants, ATargetThatIsTooLowHidesNoShortage) {
  Device(1).target = GiB(8);
  Device(2).target = Bytes();
  Device(2).hungry = false;
  NoteShortage(machine_.state());
  EXPECT_TRUE(machine_.state().tenants.at(TenantId(2)).short_since);
}

TEST_F(BrokerInvariants, WhatIsGuaranteedToOthersIsNotToBeHad) {
  machine_.state().tenants.at(TenantId(1)).policy.guarantee[Place::kDevice] = GiB(8);
  NoteShortage(machine_.state());
  EXPECT_FALSE(machine_.state().tenants.at(TenantId(2)).short_since);
}

TEST_F(BrokerInvariants, ADeadlineIsTooFarAway) {
  Device(1).recall->deadline += std::chrono::nanoseconds(1);
  EXPECT_THAT(Broken(), HasSubstr("I2: the deadline"));
}

TEST_F(BrokerInvariants, ADeadlineHasPassed) {
  Device(1).recall->deadline = machine_.now();
  EXPECT_THAT(Broken(), HasSubstr("overdue"));
}

TEST_F(BrokerInvariants, SomebodyWaitsForRoomTooLong) {
  At(2).room_wish = {MiB(1), machine_.now()};
  EXPECT_THAT(Broken(), HasSubstr("I3"));
}

TEST_F(BrokerInvariants, SomethingIsRecalledBeforeAllAreKnown) {
  machine_.state().adopting_until = Instant::max();
  EXPECT_THAT(Broken(), HasSubstr("I4"));
}

TEST_F(BrokerInvariants, SomebodyIsAdoptedThoughNobodyIsWaitedFor) {
  At(2).state = LeaseState::kAdopted;
  EXPECT_THAT(Broken(), HasSubstr("I4"));
}

TEST_F(BrokerInvariants, ARecallMakesNoSense) {
  Device(1).recall->bytes = GiB(9);
  EXPECT_THAT(Broken(), HasSubstr("more is recalled"));
  Device(1).recall->bytes = Bytes();
  EXPECT_THAT(Broken(), HasSubstr("nothing is recalled"));
  Device(1).recall->bytes = MiB(1);
  EXPECT_THAT(Broken(), HasSubstr("more is copied"));
  Device(1).recall->bytes = Device(1).recall->copied = MiB(257);
  EXPECT_THAT(Broken(), HasSubstr("more than a slice"));
  Device(1).recall->copied = MiB(1);
  Device(1).recall->revision = Revision(1000);
  EXPECT_THAT(Broken(), HasSubstr("future"));
}

TEST_F(BrokerInvariants, TwoEvict) {
  machine_.state().evict.holder = ProcessId(2);
  EXPECT_THAT(Broken(), HasSubstr("without the turn"));
}

TEST_F(BrokerInvariants, AStateAndItsRecallDisagree) {
  At(1).state = LeaseState::kPartial;
  EXPECT_THAT(Broken(), HasSubstr("something is recalled"));
  At(1).state = LeaseState::kRecalling;
  At(2).state = LeaseState::kRecalling;
  EXPECT_THAT(Broken(), HasSubstr("none is recalled"));
}

TEST_F(BrokerInvariants, TheTreeIsTorn) {
  Tenant& tenant = machine_.state().tenants.at(TenantId(1));
  tenant.processes.push_back(ProcessId(2));
  EXPECT_THAT(Broken(), HasSubstr("a lost process"));
  tenant.processes.clear();
  EXPECT_THAT(Broken(), HasSubstr("a process in no tenant"));
  tenant.processes = {ProcessId(1)};
  tenant.tenants = {TenantId(2)};
  EXPECT_THAT(Broken(), HasSubstr("a lost tenant"));
  tenant.tenants.clear();
  std::erase(machine_.state().tenants.at(kRoot).tenants, TenantId(2));
  EXPECT_THAT(Broken(), HasSubstr("a tenant in no tenant"));
}

}  // namespace
}  // namespace vramspan::broker
