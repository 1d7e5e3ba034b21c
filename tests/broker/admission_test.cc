// Tenants: which are let in, and with which promises.
#include <gtest/gtest.h>

#include "tests/broker/machine.h"

namespace vramspan::broker {
namespace {

class BrokerAdmission : public testing::Test {
 protected:
  BrokerAdmission() : machine_(GiB(80), Settings()) {}
  Refusal Appear(uint64_t id, const Policy& policy, uint64_t parent = 0) {
    return RefusalIn(machine_.Tell(TenantAppears{TenantId(id), TenantId(parent), policy}));
  }
  Refusal Change(uint64_t id, const Policy& policy) {
    return RefusalIn(machine_.Tell(PolicyChanges{TenantId(id), policy}));
  }
  Bytes GuaranteeOf(uint64_t id) {
    return machine_.state().tenants.at(TenantId(id)).policy.guarantee[Place::kDevice];
  }
  Machine machine_;
};

TEST_F(BrokerAdmission, GuaranteesFitBesideTheReserve) {
  // 2 % of 80 GiB are kept.
  EXPECT_EQ(Appear(1, Guaranteed(GiB(40))), Refusal::kNone);
  EXPECT_EQ(Appear(2, Guaranteed(GiB(39))), Refusal::kGuarantee);
  EXPECT_FALSE(machine_.state().tenants.contains(TenantId(2)));
  EXPECT_EQ(Appear(2, Guaranteed(GiB(38))), Refusal::kNone);
  EXPECT_EQ(Appear(3, Policy()), Refusal::kNone);
}

TEST_F(BrokerAdmission, NumbersThatWouldWrapAreRefused) {
  EXPECT_EQ(Appear(1, Guaranteed(GiB(40))), Refusal::kNone);
  EXPECT_EQ(Appear(2, Guaranteed(kAllBytes)), Refusal::kGuarantee);
}

TEST_F(BrokerAdmission, APolicyDoesNotContradictItself) {
  Policy policy = Guaranteed(GiB(2));
  policy.limit[Place::kDevice] = GiB(1);
  EXPECT_EQ(Appear(1, policy), Refusal::kPolicy);
  EXPECT_EQ(Appear(1, Weighs(0)), Refusal::kPolicy);
  EXPECT_EQ(Appear(1, Weighs(kMostWeight + 1)), Refusal::kPolicy);
  EXPECT_EQ(Appear(1, Weighs(kMostWeight)), Refusal::kNone);
}

TEST_F(BrokerAdmission, WhatIsInsideIsPromisedOutOfWhatIsAround) {
  EXPECT_EQ(Appear(1, Guaranteed(GiB(10))), Refusal::kNone);
  EXPECT_EQ(Appear(2, Guaranteed(GiB(6)), 1), Refusal::kNone);
  EXPECT_EQ(Appear(3, Guaranteed(GiB(5)), 1), Refusal::kGuarantee);
  EXPECT_EQ(Appear(3, Guaranteed(GiB(4)), 1), Refusal::kNone);
  // The one around cannot promise less than it has promised.
  EXPECT_EQ(Change(1, Guaranteed(GiB(9))), Refusal::kGuarantee);
  EXPECT_EQ(GuaranteeOf(1), GiB(10));
  EXPECT_EQ(Change(1, Guaranteed(GiB(12))), Refusal::kNone);
}

TEST_F(BrokerAdmission, AChangeIsWholeOrNotAtAll) {
  EXPECT_EQ(Appear(1, Guaranteed(GiB(40))), Refusal::kNone);
  Policy policy = Guaranteed(GiB(79));
  policy.weight = 7;
  EXPECT_EQ(Change(1, policy), Refusal::kGuarantee);
  EXPECT_EQ(machine_.state().tenants.at(TenantId(1)).policy.weight, kDefaultWeight);
  EXPECT_EQ(Change(2, policy), Refusal::kUnknown);
  EXPECT_EQ(Change(0, Policy()), Refusal::kPolicy);
}

TEST_F(BrokerAdmission, PromisesStayWhenTheCapacityShrinks) {
  EXPECT_EQ(Appear(1, Guaranteed(GiB(70))), Refusal::kNone);
  machine_.Tell(CapacityIs{Place::kDevice, GiB(40)});
  EXPECT_EQ(Change(1, Guaranteed(GiB(60))), Refusal::kNone);
  EXPECT_EQ(Change(1, Guaranteed(GiB(61))), Refusal::kGuarantee);
}

TEST_F(BrokerAdmission, TenantsLeaveWhenNobodyIsInside) {
  EXPECT_EQ(Appear(1, Guaranteed(GiB(70))), Refusal::kNone);
  EXPECT_EQ(Appear(1, Policy()), Refusal::kKnown);
  EXPECT_EQ(Appear(2, Policy(), 1), Refusal::kNone);
  EXPECT_EQ(Appear(3, Policy(), 9), Refusal::kUnknown);
  EXPECT_EQ(RefusalIn(machine_.Tell(TenantLeaves{TenantId(1)})), Refusal::kInUse);
  EXPECT_EQ(RefusalIn(machine_.Tell(TenantLeaves{kRoot})), Refusal::kInUse);
  EXPECT_EQ(RefusalIn(machine_.Tell(TenantLeaves{TenantId(2)})), Refusal::kNone);
  EXPECT_EQ(RefusalIn(machine_.Tell(TenantLeaves{TenantId(1)})), Refusal::kNone);
  EXPECT_EQ(Appear(4, Guaranteed(GiB(70))), Refusal::kNone);
}

TEST_F(BrokerAdmission, ProcessesComeOnceAndIntoATenant) {
  EXPECT_EQ(Appear(1, Policy()), Refusal::kNone);
  EXPECT_EQ(RefusalIn(machine_.Tell(Joins{ProcessId(1), TenantId(1), {}})), Refusal::kNone);
  EXPECT_EQ(RefusalIn(machine_.Tell(Joins{ProcessId(1), TenantId(1), {}})), Refusal::kKnown);
  EXPECT_EQ(RefusalIn(machine_.Tell(Joins{ProcessId(2), TenantId(9), {}})), Refusal::kUnknown);
  EXPECT_EQ(RefusalIn(machine_.Tell(Joins{ProcessId(2), kRoot, {}})), Refusal::kUnknown);
  EXPECT_EQ(RefusalIn(machine_.Tell(Joins{ProcessId(), TenantId(1), {}})), Refusal::kUnknown);
  EXPECT_EQ(RefusalIn(machine_.Tell(Adopts{.process = ProcessId(2), .tenant = TenantId(1)})),
            Refusal::kNotNow);
}

}  // namespace
}  // namespace vramspan::broker
