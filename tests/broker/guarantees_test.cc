// Guarantees where the host is full: whoever can give does, and keeps its own.
#include <gtest/gtest.h>

#include "tests/broker/machine.h"

namespace vramspan::broker {
namespace {

constexpr Duration kHalfAMinute = std::chrono::seconds(30);

Policy Of(uint32_t weight, Bytes guarantee) {
  return {.weight = weight, .guarantee = {{guarantee, Bytes()}}};
}

// 12 GiB of the device, and 2 GiB of the host, which one has. Another is stuck in the same tenant.
// A third has nowhere to evict to.
class BrokerGuarantees : public testing::Test {
 protected:
  BrokerGuarantees() : machine_(GiB(12), GiB(2)) {}

  void Fill(Bytes guarantee) {
    machine_.Works(machine_.Add(2, Of(300, guarantee)), GiB(100));
    machine_.Run(kHalfAMinute);
    machine_.Works(machine_.AddProcess(3, TenantId(2)), GiB(3));
    machine_.Works(machine_.Add(1), GiB(100));
    machine_.Run(kHalfAMinute);
    machine_.client(kStuck).stuck = true;
    machine_.Tell(IsStuck{kStuck});
    ASSERT_EQ(machine_.Grant(kVictim), GiB(3));
    ASSERT_EQ(machine_.Grant(kAtTarget), GiB(6));
    ASSERT_EQ(machine_.Grant(kStuck), GiB(3));
    ASSERT_EQ(machine_.Host(kAtTarget).grant, GiB(2));
    ASSERT_EQ(machine_.Host(kVictim).grant, Bytes());
  }
  ProcessId Comes(Bytes guarantee) {
    const ProcessId id = machine_.Add(4, Of(100, guarantee));
    machine_.Works(id, guarantee);
    return id;
  }

  static constexpr ProcessId kVictim{1}, kAtTarget{2}, kStuck{3};
  Machine machine_;
};

TEST_F(BrokerGuarantees, WhoIsAtItsTargetGivesWhatAVictimCannot) {
  Fill(GiB(2));
  const ProcessId id = Comes(GiB(4));
  machine_.Run(kHalfAMinute);
  EXPECT_EQ(machine_.Grant(id), GiB(4));
  // The victim has a GiB too much. The other's tenant has its guarantee by who is stuck.
  EXPECT_EQ(machine_.Device(kVictim).target, GiB(2));
  EXPECT_EQ(machine_.Grant(kVictim), GiB(3));
  EXPECT_EQ(machine_.Device(kAtTarget).target, GiB(3));
  EXPECT_EQ(machine_.Grant(kAtTarget), GiB(2));
  // And it stays so.
  const Bytes recalled = machine_.recalled();
  machine_.Run(10 * kHalfAMinute);
  EXPECT_EQ(machine_.recalled(), recalled);
}

TEST_F(BrokerGuarantees, WhoGaveHasItBackWhenTheVictimCanEvict) {
  Fill(GiB(2));
  const ProcessId id = Comes(GiB(4));
  machine_.Run(kHalfAMinute);
  machine_.Tell(CapacityIs{Place::kHost, GiB(8)});
  machine_.Run(kHalfAMinute);
  EXPECT_EQ(machine_.Grant(id), GiB(4));
  EXPECT_EQ(machine_.Grant(kVictim), GiB(2));
  EXPECT_EQ(machine_.Grant(kAtTarget), GiB(3));
}

TEST_F(BrokerGuarantees, NobodyGivesOfItsOwnGuarantee) {
  Fill(GiB(8));
  const ProcessId id = Comes(GiB(4));
  machine_.Run(kHalfAMinute);
  EXPECT_EQ(machine_.Grant(id), GiB(1));
  EXPECT_EQ(machine_.Grant(kVictim), GiB(3));
  EXPECT_EQ(machine_.Grant(kAtTarget), GiB(5));
}

TEST_F(BrokerGuarantees, NobodyGivesForAShareByWeight) {
  Fill(GiB(2));
  const ProcessId id = machine_.Add(4);
  machine_.Works(id, GiB(100));
  machine_.Run(kHalfAMinute);
  EXPECT_EQ(machine_.Device(kAtTarget).target, machine_.Grant(kAtTarget));
}

TEST_F(BrokerGuarantees, AVictimThatCanEvictIsWaitedFor) {
  Fill(GiB(2));
  machine_.Tell(CapacityIs{Place::kHost, GiB(20)});
  machine_.Run(kHalfAMinute);
  const ProcessId id = Comes(GiB(4));
  const auto gets_it = [&] { return machine_.Grant(id) == GiB(4); };
  for (int i = 0; i < 10'000 && !gets_it(); ++i) {
    machine_.Run(std::chrono::microseconds(100));
    ASSERT_GE(machine_.Grant(kAtTarget), machine_.Device(kAtTarget).target);
  }
  EXPECT_TRUE(gets_it());
}

// Who is unwilling is fenced. Until then it is asked, and nobody else.
TEST_F(BrokerGuarantees, AnUnwillingVictimIsFencedFirst) {
  Fill(GiB(2));
  machine_.Tell(CapacityIs{Place::kHost, GiB(20)});
  machine_.Run(kHalfAMinute);
  const ProcessId id = Comes(GiB(4));
  machine_.client(kVictim).stuck = true;  // It answers by hand.
  machine_.Run(std::chrono::milliseconds(140));
  for (int i = 0; i < machine_.state().settings.most_refusals; ++i) {
    machine_.Run(machine_.state().settings.retry);
    ASSERT_TRUE(machine_.Recalled(kVictim));
    EXPECT_EQ(machine_.Grant(kAtTarget), GiB(3));
    EXPECT_EQ(machine_.Grant(id), GiB(3));
    machine_.Answer(kVictim, Acknowledges::Result::kDeferred);
    if (!machine_.Host(kVictim).recall) continue;
    machine_.Answer(kVictim, Acknowledges::Result::kDone, {}, Place::kHost);
  }
  ASSERT_EQ(machine_.At(kVictim).state, LeaseState::kFenced);
  machine_.Run(std::chrono::seconds(4));
  EXPECT_EQ(machine_.Grant(kAtTarget), GiB(2));
  EXPECT_EQ(machine_.Grant(id), GiB(4));
}

// What is given for the tenant inside does not go to whom the one around it is guaranteed for.
TEST(BrokerGuaranteesInside, TheGiverDoesNotGetItBack) {
  Machine machine(GiB(12), Bytes());
  machine.Works(machine.Add(1), GiB(8));
  machine.Run(kHalfAMinute);
  machine.Tell(TenantAppears{TenantId(2), kRoot, Of(100, GiB(6))});
  const ProcessId giver = machine.Add(3, Of(10'000, {}), TenantId(2));
  machine.Works(giver, GiB(100));
  machine.Run(kHalfAMinute);
  ASSERT_EQ(machine.Grant(giver), GiB(4));
  // It can give without a copy: it uses nothing of that.
  Said said;
  said.wanted[Place::kDevice] = GiB(100);
  machine.client(giver).stuck = true;
  machine.Tell(Says{giver, said});
  const ProcessId id = machine.Add(4, Of(1, GiB(2)), TenantId(2));
  machine.Works(id, GiB(100));
  for (int i = 0; i < 10 && machine.Recalled(giver); ++i) {
    machine.Answer(giver);
    machine.Run(std::chrono::milliseconds(10));
  }
  EXPECT_EQ(machine.Grant(id), GiB(2));
  EXPECT_EQ(machine.Grant(giver), GiB(2));
  EXPECT_FALSE(machine.Recalled(giver));
}

}  // namespace
}  // namespace vramspan::broker
