// Processes that say what brings them most: whatever it is, guarantees are met.
#include <gtest/gtest.h>

#include "tests/broker/machine.h"

namespace vramspan::broker {
namespace {

Said Says4(Bytes device, Bytes host, Bytes more_device, Bytes more_host) {
  Said said;
  said.used = {{device, host}};
  said.wanted = {{more_device, more_host}};
  return said;
}

class BrokerGreed : public testing::Test {
 protected:
  BrokerGreed() : machine_(GiB(80), GiB(100)) {}

  // Time passes. The process says the same as ever, and answers all that is recalled from it.
  template <typename Word>
  void Obey(ProcessId id, Duration time, Duration each, const Word& word) {
    for (Duration passed{}; passed < time; passed += each) {
      machine_.Pass(each);
      for (const Place place : kPlaces) {
        if (!machine_.At(id).leases[place].recall) continue;
        machine_.Tell(Says{id, word()});
        machine_.Answer(id, Acknowledges::Result::kDone, {}, place);
      }
    }
  }
  void Wants(ProcessId id, Bytes bytes) { machine_.Tell(Says{id, Says4({}, {}, bytes, {})}); }
  Machine machine_;
};

TEST_F(BrokerGreed, WhoHoardsTheHostIsAskedAllTheSame) {
  const ProcessId a = machine_.Add(1);
  const auto word = [] { return Says4(kAllBytes, kAllBytes, {}, kAllBytes); };
  for (int i = 0; i < 10; ++i) {
    machine_.Tell(Says{a, word()});
    machine_.Pass(std::chrono::seconds(1));
  }
  // A quarter is kept for victims.
  EXPECT_EQ(machine_.Host(a).grant, GiB(75));
  const ProcessId b = machine_.Add(2, Guaranteed(GiB(40)));
  Wants(b, GiB(40));
  Obey(a, std::chrono::seconds(5), std::chrono::milliseconds(10), word);
  EXPECT_EQ(machine_.Grant(b), GiB(40));
}

TEST_F(BrokerGreed, AGuaranteeOfHostMemoryMayUseWhatIsKept) {
  Policy policy;
  policy.guarantee[Place::kHost] = GiB(90);
  const ProcessId a = machine_.Add(1, policy);
  machine_.Tell(Says{a, Says4({}, {}, {}, kAllBytes)});
  machine_.Pass(std::chrono::seconds(1));
  EXPECT_EQ(machine_.Host(a).grant, GiB(90));
}

TEST_F(BrokerGreed, WhoAlwaysHasALittleAtHandGivesSlices) {
  const ProcessId a = machine_.Add(1);
  machine_.Tell(Says{a, Says4(kAllBytes, {}, {}, {})});
  machine_.Pass(std::chrono::seconds(1));
  const auto word = [&] { return Says4(machine_.Grant(a) - MiB(4), {}, {}, {}); };
  machine_.Tell(Says{a, Says4(machine_.Grant(a) - MiB(2), {}, {}, {})});
  const ProcessId b = machine_.Add(2, Guaranteed(GiB(40)));
  Wants(b, GiB(40));
  // As late as it may be, each time.
  Obey(a, std::chrono::seconds(45), std::chrono::milliseconds(249), word);
  EXPECT_EQ(machine_.Grant(b), GiB(40));
}

TEST_F(BrokerGreed, NoVictimIsGrantedMoreOfTheHostThanItsLimit) {
  Policy policy;
  policy.limit[Place::kHost] = GiB(1);
  machine_.Tell(TenantAppears{TenantId(9), kRoot, policy});
  const ProcessId a = machine_.Add(1, Policy(), TenantId(9));
  const auto word = [] { return Says4(kAllBytes, kAllBytes, GiB(10), {}); };
  machine_.Tell(Says{a, word()});
  machine_.Pass(std::chrono::seconds(1));
  const ProcessId b = machine_.Add(2);
  Wants(b, GiB(40));
  Obey(a, std::chrono::seconds(5), std::chrono::milliseconds(10), word);
  EXPECT_EQ(machine_.Host(a).grant, GiB(1));
}

// What is recalled of the host is not what a victim evicts to.
TEST_F(BrokerGreed, HostMemoryIsNotPromisedTwice) {
  Policy little, all;
  little.limit[Place::kHost] = GiB(30);
  all.guarantee[Place::kHost] = GiB(100);
  const ProcessId a = machine_.Add(1, little), b = machine_.Add(2, all);
  machine_.Tell(Says{a, Says4(kAllBytes, {}, kAllBytes, GiB(30))});
  machine_.Pass(std::chrono::seconds(3));
  machine_.Tell(Says{a, Says4(kAllBytes, {}, kAllBytes, {})});
  machine_.Tell(Says{b, Says4({}, {}, {}, GiB(200))});
  ASSERT_EQ(machine_.Host(a).grant, GiB(30));
  ASSERT_TRUE(machine_.Host(a).recall);
  ASSERT_EQ(machine_.Host(a).recall->bytes, GiB(30));
  machine_.Tell(ForeignIs{Place::kDevice, GiB(70)});
  EXPECT_FALSE(machine_.Recalled(a)) << "there is nowhere to evict to";
}

}  // namespace
}  // namespace vramspan::broker
