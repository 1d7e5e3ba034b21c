// The states of a lease: who answers, who answers in part, too late or not at all, and who dies.
#include <gtest/gtest.h>

#include "tests/broker/machine.h"

namespace vramspan::broker {
namespace {

using Result = Acknowledges::Result;
using Kind = Action::Kind;

// The first has all of the device in use. The second wants its half.
class BrokerObedience : public testing::Test {
 protected:
  BrokerObedience() : machine_(GiB(8)) {
    a_ = machine_.Add(1);
    machine_.Works(a_, GiB(8));
    b_ = machine_.Add(2);
  }
  Actions Want() { return machine_.Works(b_, GiB(4)); }
  LeaseState state(ProcessId id) const { return machine_.At(id).state; }
  Machine machine_;
  ProcessId a_, b_;
};

TEST_F(BrokerObedience, ARecallIsASliceAndItsAnswerAGrant) {
  EXPECT_EQ(state(a_), LeaseState::kSteady);
  EXPECT_EQ(state(b_), LeaseState::kAdmitted);
  const auto recalls = Only(Want(), Kind::kRecall);
  ASSERT_EQ(recalls.size(), 1u);
  EXPECT_EQ(recalls[0].process, a_);
  EXPECT_EQ(recalls[0].bytes, MiB(256));
  EXPECT_EQ(recalls[0].copied, MiB(256));
  EXPECT_EQ(recalls[0].deadline, machine_.now() + machine_.state().settings.deadline);
  EXPECT_EQ(state(a_), LeaseState::kRecalling);
  // Nothing is granted before it is given back.
  EXPECT_EQ(machine_.Grant(b_), Bytes());
  EXPECT_EQ(machine_.Grant(a_), GiB(8));
  const Actions next = machine_.Answer(a_);
  EXPECT_EQ(machine_.Grant(a_), GiB(8) - MiB(256));
  EXPECT_EQ(machine_.Grant(b_), MiB(256));
  EXPECT_EQ(state(b_), LeaseState::kSteady);
  EXPECT_EQ(Only(next, Kind::kRecall).size(), 1u);
}

TEST_F(BrokerObedience, TheVictimHasRoomOnTheHostForWhatItEvicts) {
  Want();
  EXPECT_GE(machine_.Host(a_).grant, MiB(256));
}

TEST_F(BrokerObedience, AnAnswerInPartCountsForItsPart) {
  Want();
  machine_.Answer(a_, Result::kPartial, MiB(100));
  EXPECT_EQ(machine_.Grant(a_), GiB(8) - MiB(100));
  EXPECT_EQ(machine_.Grant(b_), MiB(100));
  EXPECT_EQ(state(a_), LeaseState::kPartial);
  EXPECT_FALSE(machine_.Recalled(a_));
  machine_.Pass(machine_.state().settings.retry);
  EXPECT_TRUE(machine_.Recalled(a_));
  EXPECT_EQ(state(a_), LeaseState::kRecalling);
}

TEST_F(BrokerObedience, MoreThanWasAskedForIsNotTaken) {
  Want();
  machine_.Answer(a_, Result::kPartial, kAllBytes);
  EXPECT_EQ(machine_.Grant(a_), GiB(8) - MiB(256));
}

TEST_F(BrokerObedience, AnotherRevisionCountsForNothing) {
  Want();
  const Revision revision = machine_.Device(a_).recall->revision;
  machine_.Tell(Acknowledges{a_, Place::kDevice, Revision(revision.value + 1), Result::kDone, {}});
  machine_.Tell(Acknowledges{a_, Place::kHost, revision, Result::kDone, {}});
  machine_.Tell(Acknowledges{b_, Place::kDevice, revision, Result::kDone, {}});
  machine_.Tell(Acknowledges{ProcessId(9), Place::kDevice, revision, Result::kDone, {}});
  EXPECT_EQ(machine_.Grant(a_), GiB(8));
  machine_.Tell(Acknowledges{a_, Place::kDevice, revision, Result::kDone, {}});
  machine_.Tell(Acknowledges{a_, Place::kDevice, revision, Result::kDone, {}});
  EXPECT_EQ(machine_.Grant(a_), GiB(8) - MiB(256));
}

TEST_F(BrokerObedience, WhoDefersIsAskedLaterAndFencedInTheEnd) {
  Want();
  const Settings& settings = machine_.state().settings;
  for (int i = 1; i < settings.most_refusals; ++i) {
    EXPECT_TRUE(Only(machine_.Answer(a_, Result::kDeferred), Kind::kFence).empty());
    EXPECT_EQ(state(a_), LeaseState::kPartial);
    machine_.Pass(settings.retry - std::chrono::milliseconds(1));
    EXPECT_FALSE(machine_.Recalled(a_));
    machine_.Pass(std::chrono::milliseconds(1));
    ASSERT_TRUE(machine_.Recalled(a_));
  }
  EXPECT_EQ(Only(machine_.Answer(a_, Result::kDeferred), Kind::kFence).size(), 1u);
  EXPECT_EQ(state(a_), LeaseState::kFenced);
  // It is given one more chance.
  machine_.Pass(settings.parole);
  EXPECT_EQ(state(a_), LeaseState::kRecalling);
  machine_.Answer(a_);
  EXPECT_EQ(machine_.Device(a_).refusals, 0);
  EXPECT_EQ(machine_.Grant(b_), MiB(256));
}

TEST_F(BrokerObedience, AByteAtATimeIsNoObedience) {
  Want();
  const Settings& settings = machine_.state().settings;
  for (int i = 1; i < settings.most_refusals; ++i) {
    machine_.Answer(a_, Result::kPartial, MiB(100));
    machine_.Pass(settings.retry);
    ASSERT_TRUE(machine_.Recalled(a_));
  }
  EXPECT_EQ(Only(machine_.Answer(a_, Result::kPartial, MiB(100)), Kind::kFence).size(), 1u);
  machine_.Pass(settings.parole);
  machine_.Answer(a_, Result::kPartial, MiB(128));
  EXPECT_EQ(machine_.Device(a_).refusals, 0);
}

TEST_F(BrokerObedience, WhoIsSilentIsOverdueThenFencedAndSteadyWhenItAnswers) {
  Want();
  const Settings& settings = machine_.state().settings;
  machine_.Pass(settings.deadline);
  EXPECT_EQ(state(a_), LeaseState::kOverdue);
  // Nobody waits for it: what it holds counts as fixed.
  EXPECT_EQ(machine_.Device(a_).target, GiB(8));
  EXPECT_EQ(machine_.Device(b_).target, Bytes());
  machine_.Pass(settings.fence_after);
  EXPECT_EQ(state(a_), LeaseState::kFenced);
  machine_.Pass(std::chrono::minutes(1));
  EXPECT_EQ(state(a_), LeaseState::kFenced);
  const Actions actions = machine_.Answer(a_);
  EXPECT_EQ(Only(actions, Kind::kUnfence).size(), 1u);
  EXPECT_EQ(state(a_), LeaseState::kRecalling);
  EXPECT_EQ(machine_.Grant(b_), MiB(256));
}

TEST_F(BrokerObedience, AFencedVictimLeavesItsPlaceToTheNext) {
  Machine machine(GiB(9));
  const ProcessId a = machine.Add(1), b = machine.Add(2), c = machine.Add(3);
  machine.Works(a, GiB(5));
  machine.Works(b, GiB(4));
  machine.Run(std::chrono::seconds(5));
  machine.Works(c, GiB(2));
  ASSERT_TRUE(machine.Recalled(a));
  ASSERT_FALSE(machine.Recalled(b));
  machine.Pass(machine.state().settings.deadline);
  EXPECT_EQ(machine.At(a).state, LeaseState::kOverdue);
  EXPECT_TRUE(machine.Recalled(b));
}

TEST_F(BrokerObedience, NobodyWaitsForTheStuck) {
  machine_.Tell(IsStuck{a_});
  Want();
  EXPECT_FALSE(machine_.Recalled(a_));
  EXPECT_EQ(machine_.Device(b_).target, Bytes());
  machine_.Tell(Beats{a_});
  EXPECT_TRUE(machine_.Recalled(a_));
}

TEST_F(BrokerObedience, WhoStopsWithARecallHasItsTimeAnewWhenItRuns) {
  Want();
  machine_.Tell(IsStuck{a_});
  EXPECT_EQ(machine_.state().evict.holder, ProcessId());
  machine_.Pass(std::chrono::minutes(1));
  EXPECT_EQ(state(a_), LeaseState::kOverdue);
  machine_.Tell(Beats{a_});
  machine_.Pass(std::chrono::seconds(1));
  EXPECT_EQ(state(a_), LeaseState::kOverdue);
  machine_.Answer(a_);
  EXPECT_EQ(machine_.Grant(b_), MiB(256));
}

TEST_F(BrokerObedience, TheDeadHoldTheirMemoryUntilItIsGone) {
  machine_.Tell(Dies{a_});
  Want();
  EXPECT_EQ(state(a_), LeaseState::kDying);
  EXPECT_EQ(machine_.Grant(b_), Bytes());
  // It says nothing any more.
  machine_.Tell(WantsRoom{a_, MiB(1)});
  EXPECT_FALSE(machine_.At(a_).room_wish);
  const Actions actions = machine_.Tell(BytesGone{a_});
  EXPECT_EQ(Only(actions, Kind::kForget).size(), 1u);
  // What comes free is gathered.
  machine_.Pass(machine_.state().settings.gather);
  EXPECT_EQ(machine_.Grant(b_), GiB(8));
}

TEST_F(BrokerObedience, TheDeadAreForgottenWhereNobodySeesTheirBytesGo) {
  Want();
  machine_.Tell(BytesGone{a_});
  EXPECT_EQ(state(a_), LeaseState::kRecalling);
  machine_.Tell(Dies{a_});
  machine_.Pass(machine_.state().settings.death_wait - std::chrono::milliseconds(1));
  EXPECT_TRUE(machine_.state().processes.contains(a_));
  machine_.Pass(std::chrono::milliseconds(1));
  EXPECT_FALSE(machine_.state().processes.contains(a_));
  machine_.Pass(std::chrono::seconds(1));
  EXPECT_EQ(machine_.Grant(b_), GiB(8));
}

TEST_F(BrokerObedience, TheDeadKeepWhatIsSeenOfThem) {
  const Duration wait = machine_.state().settings.death_wait;
  machine_.Tell(Dies{a_});
  Want();
  for (int i = 0; i < 10; ++i) {
    machine_.Pass(wait - std::chrono::milliseconds(1));
    // It hangs in the kernel, and its memory is there.
    machine_.Tell(Measured{a_, GiB(8)});
    ASSERT_EQ(machine_.Grant(b_), Bytes());
  }
  // More than was granted counts as well, and what is not known does not.
  machine_.Tell(Measured{a_, GiB(9)});
  EXPECT_EQ(Held(machine_.At(a_), Place::kDevice), GiB(9));
  machine_.Pass(wait - std::chrono::milliseconds(1));
  machine_.Tell(Measured{a_, Bytes()});
  ASSERT_TRUE(machine_.state().processes.contains(a_));
  machine_.Pass(std::chrono::milliseconds(1));
  EXPECT_FALSE(machine_.state().processes.contains(a_));
  machine_.Pass(std::chrono::seconds(1));
  EXPECT_EQ(machine_.Grant(b_), GiB(8));
}

TEST_F(BrokerObedience, WhoHeldNothingIsForgottenAtOnce) {
  const Bytes host = machine_.Host(b_).grant;
  ASSERT_EQ(host, Bytes());
  EXPECT_EQ(Only(machine_.Tell(Dies{b_}), Kind::kForget).size(), 1u);
  EXPECT_FALSE(machine_.state().processes.contains(b_));
  // Seen to hold something, it is waited for.
  const ProcessId c = machine_.AddProcess(3, TenantId(2));
  machine_.Tell(Measured{c, MiB(1)});
  machine_.Tell(Dies{c});
  EXPECT_EQ(state(c), LeaseState::kDying);
}

TEST_F(BrokerObedience, NothingIsNotHalfOfAByte) {
  machine_.Tell(ForeignIs{Place::kDevice, Bytes(1)});
  ASSERT_EQ(machine_.Device(a_).recall->bytes, Bytes(1));
  machine_.Answer(a_, Result::kDeferred);
  EXPECT_EQ(machine_.Device(a_).refusals, 1);
}

}  // namespace
}  // namespace vramspan::broker
