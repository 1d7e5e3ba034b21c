// The broker ends, and another begins: it adopts who held memory before.
#include <gtest/gtest.h>

#include <optional>

#include "tests/broker/machine.h"

namespace vramspan::broker {
namespace {

using Kind = Action::Kind;

class BrokerRestart : public testing::Test {
 protected:
  BrokerRestart() : machine_(GiB(80)) {
    for (const uint64_t id : {1, 2, 3}) {
      machine_.Tell(TenantAppears{TenantId(id), kRoot, Policy()});
    }
  }
  Actions Adopt(uint64_t id, Bytes grant) { return Adopt(id, grant, grant); }
  Actions Adopt(uint64_t id, Bytes grant, std::optional<Bytes> proven) {
    Adopts adopts{.process = ProcessId(id), .tenant = TenantId(id), .revision = Revision(41)};
    adopts.grants = {{grant, GiB(10)}};
    adopts.proven = {{proven, GiB(10)}};
    adopts.room = room_;
    adopts.said.used[Place::kDevice] = grant;
    adopts.said.wanted[Place::kDevice] = GiB(80);
    return machine_.Tell(adopts);
  }
  Machine machine_;
  Bytes room_;
};

TEST_F(BrokerRestart, NothingChangesUntilEverybodyIsThere) {
  machine_.Tell(Restarts{2});
  EXPECT_TRUE(Adopt(1, GiB(60)).empty());
  EXPECT_EQ(machine_.At(ProcessId(1)).state, LeaseState::kAdopted);
  EXPECT_EQ(machine_.Grant(ProcessId(1)), GiB(60));
  // A new one has to wait, and so has who wants room.
  machine_.AddProcess(3, TenantId(3));
  EXPECT_TRUE(machine_.Works(ProcessId(3), GiB(10)).empty());
  EXPECT_TRUE(machine_.Tell(WantsRoom{ProcessId(3), MiB(1)}).empty());
  // The last.
  const Actions actions = Adopt(2, GiB(30));
  EXPECT_EQ(machine_.At(ProcessId(1)).state, LeaseState::kRecalling);
  EXPECT_EQ(machine_.At(ProcessId(2)).state, LeaseState::kSteady);
  EXPECT_EQ(Only(actions, Kind::kRecall).size(), 1u);
  EXPECT_EQ(Only(actions, Kind::kRecall)[0].revision, Revision(42));
}

TEST_F(BrokerRestart, TooMuchIsRecalledInProportion) {
  machine_.Tell(Restarts{2});
  Adopt(1, GiB(60));
  Adopt(2, GiB(60));
  EXPECT_EQ(Excess(machine_.state(), Place::kDevice), GiB(40));
  machine_.Tell(Dies{ProcessId(9)});
  while (machine_.Recalled(ProcessId(1)) || machine_.Recalled(ProcessId(2))) {
    machine_.Answer(ProcessId(machine_.Recalled(ProcessId(1)) ? 1 : 2));
  }
  EXPECT_EQ(machine_.Grant(ProcessId(1)), GiB(40));
  EXPECT_EQ(machine_.Grant(ProcessId(2)), GiB(40));
}

TEST_F(BrokerRestart, WhoDoesNotComeIsWaitedForForTwoSeconds) {
  machine_.Tell(Restarts{2});
  Adopt(1, GiB(60));
  machine_.Pass(machine_.state().settings.adoption - std::chrono::milliseconds(1));
  EXPECT_EQ(machine_.At(ProcessId(1)).state, LeaseState::kAdopted);
  machine_.Pass(std::chrono::milliseconds(1));
  EXPECT_EQ(machine_.At(ProcessId(1)).state, LeaseState::kSteady);
  EXPECT_EQ(machine_.Grant(ProcessId(1)), GiB(80));
}

// It connects again after five seconds at most. Its bytes are held anyway.
TEST_F(BrokerRestart, WhoHasProofMayComeLate) {
  machine_.Tell(Restarts{2});
  Adopt(1, GiB(60));
  machine_.Pass(std::chrono::seconds(5));
  ASSERT_EQ(machine_.Grant(ProcessId(1)), GiB(80));
  EXPECT_EQ(RefusalIn(Adopt(2, GiB(30), std::nullopt)), Refusal::kNotNow);
  EXPECT_EQ(RefusalIn(Adopt(2, GiB(30))), Refusal::kNone);
  EXPECT_EQ(machine_.At(ProcessId(2)).state, LeaseState::kSteady);
  EXPECT_EQ(machine_.Grant(ProcessId(2)), GiB(30));
  EXPECT_EQ(Excess(machine_.state(), Place::kDevice), GiB(30));
  for (int i = 0; i < 1000 && machine_.Recalled(ProcessId(1)); ++i) machine_.Answer(ProcessId(1));
  EXPECT_EQ(Excess(machine_.state(), Place::kDevice), Bytes());
}

TEST_F(BrokerRestart, WithoutProofNobodyHasMoreThanIsFreeThenAndItsShare) {
  machine_.Tell(Restarts{2});
  room_ = kAllBytes;
  EXPECT_TRUE(Adopt(3, kAllBytes, std::nullopt).empty());
  EXPECT_EQ(machine_.At(ProcessId(3)).room, Bytes());
  EXPECT_EQ(machine_.Grant(ProcessId(3)), Bytes());
  room_ = Bytes();
  // It has not taken the place of one that is waited for.
  Adopt(1, GiB(35));
  ASSERT_TRUE(machine_.state().adopting_until);
  Adopts late{.process = ProcessId(2), .tenant = TenantId(2), .revision = Revision(1)};
  late.grants = {{GiB(5), Bytes()}};
  late.proven = {{GiB(5), Bytes()}};
  const auto grants = Only(machine_.Tell(late), Kind::kGrant);
  EXPECT_FALSE(machine_.state().adopting_until);
  ASSERT_FALSE(grants.empty());
  EXPECT_EQ(grants[0].process, ProcessId(3));
  // A third of 80 GiB, though 40 are free.
  EXPECT_EQ(grants[0].bytes, PartOf(GiB(80), kWhole / 3, kWhole));
  EXPECT_GE(machine_.Grant(ProcessId(1)), GiB(35));
}

TEST_F(BrokerRestart, WithoutProofNobodyHasMoreThanIsFree) {
  machine_.Tell(Restarts{1});
  Adopt(3, GiB(40), std::nullopt);
  const auto grants = Only(Adopt(1, GiB(70)), Kind::kGrant);
  ASSERT_FALSE(grants.empty());
  EXPECT_EQ(grants[0].process, ProcessId(3));
  EXPECT_EQ(grants[0].bytes, GiB(10));
  EXPECT_EQ(machine_.At(ProcessId(3)).said.used[Place::kDevice], GiB(10));
  // It needs that, and what it wants beyond it, from now on.
  EXPECT_EQ(Demand(machine_.At(ProcessId(3)), Place::kDevice), GiB(90));
}

TEST_F(BrokerRestart, NobodyIsBelievedMoreThanIsProven) {
  machine_.Tell(Restarts{3});
  const Actions actions = Adopt(1, GiB(70), GiB(50));
  EXPECT_EQ(machine_.Grant(ProcessId(1)), GiB(50));
  ASSERT_EQ(Only(actions, Kind::kGrant).size(), 1u);
  EXPECT_EQ(Only(actions, Kind::kGrant)[0].bytes, GiB(50));
}

TEST_F(BrokerRestart, OnlyAnEmptyBrokerAdopts) {
  machine_.AddProcess(1, TenantId(1));
  EXPECT_EQ(RefusalIn(machine_.Tell(Restarts{1})), Refusal::kNotNow);
}

TEST_F(BrokerRestart, NobodyIsWaitedForIfNobodyWasThere) {
  machine_.Tell(Restarts{0});
  machine_.AddProcess(1, TenantId(1));
  EXPECT_EQ(machine_.Grant(ProcessId(1)), GiB(80));
}

}  // namespace
}  // namespace vramspan::broker
