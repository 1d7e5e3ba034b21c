// What a process says to the broker, and what it makes of the answers: without a socket or a clock.
#include "runtime/lease/session.h"

#include <gtest/gtest.h>

#include <vector>

namespace vramspan::lease {
namespace {

using Kind = Effect::Kind;
using State = Session::State;

constexpr std::array<uint8_t, 16> kDevice = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
constexpr Instant kNow{std::chrono::seconds(100)};

class LeaseSession : public ::testing::Test {
 protected:
  void Hear(const Message& message, bool pages = false) {
    effects_.clear();
    session_.Received(kNow, Encode(message), pages, effects_);
  }
  template <typename Call>
  void Do(Call call) {
    effects_.clear();
    call();
  }
  void Connect(Wants first = {}) {
    Do([&] { session_.Connected(first, effects_); });
  }
  void Join() {
    Connect();
    Hear({.type = Type::kWelcome, .bytes = GiB(80), .more = GiB(200), .device = kDevice}, true);
    ASSERT_EQ(Kinds(), std::vector{Kind::kWelcome});
  }
  void Grant(uint64_t revision, Bytes bytes, Memory memory = Memory::kDevice) {
    Hear({.type = Type::kGrant, .memory = memory, .revision = revision, .bytes = bytes});
  }
  void Recall(uint64_t revision, Bytes bytes, Memory memory = Memory::kDevice) {
    Hear({.type = Type::kRecall,
          .memory = memory,
          .revision = revision,
          .bytes = bytes,
          .time = std::chrono::milliseconds(240)});
  }
  Message Answer(Memory memory, Bytes given) {
    Do([&] { session_.Answer(memory, given, effects_); });
    EXPECT_EQ(Kinds(), std::vector{Kind::kSend});
    return effects_.empty() ? Message{} : effects_[0].message;
  }
  std::vector<Kind> Kinds() const {
    std::vector<Kind> kinds;
    for (const Effect& e : effects_) kinds.push_back(e.kind);
    return kinds;
  }
  void ExpectLeft() {
    ASSERT_FALSE(effects_.empty());
    EXPECT_EQ(effects_.back().kind, Kind::kClose);
    EXPECT_STRNE(effects_.back().why, "");
  }

  Session session_{kDevice};
  Effects effects_;
};

TEST_F(LeaseSession, ANewProcessSaysHelloWithWhatItWants) {
  Connect({MiB(2), MiB(4)});
  ASSERT_EQ(Kinds(), std::vector{Kind::kSend});
  EXPECT_EQ(effects_[0].message,
            (Message{.type = Type::kHello, .bytes = MiB(2), .more = MiB(4), .device = kDevice}));
  EXPECT_EQ(session_.state(), State::kGreeting);
}

TEST_F(LeaseSession, GrantsAreWholeAmountsOfEitherMemory) {
  Join();
  Grant(1, MiB(100));
  ASSERT_EQ(Kinds(), std::vector{Kind::kGrant});
  Grant(2, MiB(50), Memory::kHost);
  Grant(3, MiB(60));
  EXPECT_EQ(session_.grants(),
            (Grants{.revision = 3, .device = MiB(60), .host = MiB(50), .room = Bytes(0)}));
}

TEST_F(LeaseSession, ARecallIsAnsweredByWhatWasGiven) {
  Join();
  Grant(1, MiB(100));
  Recall(2, MiB(40));
  ASSERT_EQ(Kinds(), std::vector{Kind::kRecall});
  EXPECT_EQ(session_.Recalled(Memory::kDevice), MiB(40));
  EXPECT_EQ(Answer(Memory::kDevice, MiB(40)),
            (Message{.type = Type::kAck, .code = 0, .revision = 2}));
  EXPECT_EQ(session_.grants().device, MiB(60));
  Recall(3, MiB(40));
  EXPECT_EQ(Answer(Memory::kDevice, MiB(6)),
            (Message{.type = Type::kAck, .code = 1, .revision = 3, .bytes = MiB(6)}));
  EXPECT_EQ(session_.grants().device, MiB(54));
  Recall(4, MiB(40));
  EXPECT_EQ(Answer(Memory::kDevice, Bytes(0)),
            (Message{.type = Type::kAck, .code = 2, .revision = 4}));
  EXPECT_EQ(session_.grants().device, MiB(54));
  EXPECT_EQ(session_.Recalled(Memory::kDevice), Bytes(0));
}

TEST_F(LeaseSession, NobodyGivesMoreThanWasRecalledOrGranted) {
  Join();
  Grant(1, MiB(10), Memory::kHost);
  Recall(2, MiB(40), Memory::kHost);
  EXPECT_EQ(session_.Recalled(Memory::kHost), MiB(10));
  EXPECT_EQ(Answer(Memory::kHost, GiB(1)).code, 0);
  EXPECT_EQ(session_.grants().host, Bytes(0));
}

TEST_F(LeaseSession, AGrantThatSinksTakesFromAnOpenRecall) {
  Join();
  Grant(1, MiB(64));
  Recall(2, MiB(40));
  Grant(3, MiB(24));
  EXPECT_EQ(session_.Recalled(Memory::kDevice), MiB(24));
  EXPECT_EQ(Answer(Memory::kDevice, MiB(24)).code, 0);
  EXPECT_EQ(session_.grants().device, Bytes(0));
}

TEST_F(LeaseSession, WithoutAnOpenRecallThereIsNoAnswer) {
  Join();
  Grant(1, MiB(10));
  Do([&] { session_.Answer(Memory::kDevice, MiB(2), effects_); });
  EXPECT_TRUE(effects_.empty());
  EXPECT_EQ(session_.grants().device, MiB(10));
}

TEST_F(LeaseSession, TheAnswerIsDueOnceBeforeTheDeadline) {
  Join();
  Grant(1, MiB(100));
  EXPECT_FALSE(session_.Due().has_value());
  Recall(2, MiB(40));
  const Instant due = kNow + std::chrono::milliseconds(210);
  ASSERT_EQ(session_.Due(), due);
  Do([&] { session_.TimePasses(due - Duration(1), effects_); });
  EXPECT_TRUE(effects_.empty());
  Do([&] { session_.TimePasses(due, effects_); });
  ASSERT_EQ(Kinds(), std::vector{Kind::kDue});
  EXPECT_EQ(effects_[0].message.revision, 2u);
  EXPECT_FALSE(session_.Due().has_value());
  Do([&] { session_.TimePasses(due + std::chrono::hours(1), effects_); });
  EXPECT_TRUE(effects_.empty());
}

TEST_F(LeaseSession, ADeadlineOfEverIsNoOverflow) {
  Join();
  Grant(1, MiB(100));
  Hear({.type = Type::kRecall, .revision = 2, .bytes = MiB(2), .time = Duration::max()});
  ASSERT_TRUE(session_.Due().has_value());
  EXPECT_GT(*session_.Due(), kNow);
}

TEST_F(LeaseSession, WhoHeldMemoryAdopts) {
  Join();
  Grant(1, MiB(100));
  Grant(2, MiB(30), Memory::kHost);
  Do([&] { session_.AskRoom(MiB(20), effects_); });
  Hear({.type = Type::kRoomGiven, .bytes = MiB(20)});
  Recall(3, MiB(10));
  Do([&] { session_.Closed(effects_); });
  EXPECT_EQ(session_.state(), State::kApart);
  EXPECT_EQ(session_.Recalled(Memory::kDevice), Bytes(0)) << "the recall ends with the connection";
  EXPECT_EQ(session_.grants().device, MiB(100)) << "the last grants stay";
  Connect({MiB(7), MiB(8)});
  ASSERT_EQ(Kinds(), std::vector{Kind::kSend});
  EXPECT_EQ(effects_[0].message, (Message{.type = Type::kAdopt,
                                          .revision = 3,
                                          .bytes = MiB(100),
                                          .more = MiB(30),
                                          .rest = MiB(20),
                                          .device = kDevice}));
  Hear({.type = Type::kWelcome, .device = kDevice}, true);
  EXPECT_EQ(session_.grants().device, MiB(100));
  Grant(4, MiB(64));
  EXPECT_EQ(session_.grants().device, MiB(64));
}

TEST_F(LeaseSession, WhoIsNotAdoptedGivesUpAllAndSaysHello) {
  Join();
  Grant(1, MiB(100));
  Do([&] { session_.Closed(effects_); });
  Connect();
  Hear({.type = Type::kRefuse, .code = static_cast<uint8_t>(RefuseCode::kNotNow)});
  ASSERT_EQ(Kinds(), std::vector{Kind::kEvictAll});
  EXPECT_EQ(session_.grants(), Grants());
  Do([&] { session_.Emptied({}, effects_); });
  ASSERT_EQ(Kinds(), std::vector{Kind::kSend});
  EXPECT_EQ(effects_[0].message.type, Type::kHello);
  Hear({.type = Type::kWelcome, .device = kDevice}, true);
  Grant(1, MiB(50));
  EXPECT_EQ(session_.grants().device, MiB(50)) << "revisions begin anew";
}

TEST_F(LeaseSession, WhoIsRefusedLeaves) {
  Connect();
  Hear({.type = Type::kRefuse, .code = static_cast<uint8_t>(RefuseCode::kDenied)});
  EXPECT_EQ(Kinds(), (std::vector{Kind::kRefused, Kind::kClose}));
}

TEST_F(LeaseSession, ANewProcessThatIsRefusedNotNowHasNothingToGiveUp) {
  Connect();
  Hear({.type = Type::kRefuse, .code = static_cast<uint8_t>(RefuseCode::kNotNow)});
  EXPECT_EQ(Kinds(), (std::vector{Kind::kRefused, Kind::kClose}));
}

TEST_F(LeaseSession, RoomIsAnsweredOnceWhateverHappens) {
  Do([&] { session_.AskRoom(MiB(20), effects_); });
  ASSERT_EQ(Kinds(), std::vector{Kind::kRoom}) << "there is no connection";
  EXPECT_EQ(effects_[0].message.bytes, Bytes(0));
  Join();
  Do([&] { session_.AskRoom(MiB(20), effects_); });
  ASSERT_EQ(Kinds(), std::vector{Kind::kSend});
  Hear({.type = Type::kRefuse, .code = static_cast<uint8_t>(RefuseCode::kNoRoom)});
  ASSERT_EQ(Kinds(), std::vector{Kind::kRoom});
  EXPECT_EQ(effects_[0].message.bytes, Bytes(0));
  Do([&] { session_.AskRoom(MiB(20), effects_); });
  Hear({.type = Type::kRoomGiven, .bytes = GiB(20)});
  ASSERT_EQ(Kinds(), std::vector{Kind::kRoom});
  EXPECT_EQ(effects_[0].message.bytes, MiB(20)) << "nobody gives more than was asked";
  Hear({.type = Type::kRoomGiven, .bytes = MiB(20)});
  EXPECT_TRUE(effects_.empty()) << "nobody asked";
  Do([&] { session_.ReturnRoom(MiB(5), effects_); });
  EXPECT_EQ(effects_.at(0).message, (Message{.type = Type::kRoomBack, .bytes = MiB(5)}));
  EXPECT_EQ(session_.grants().room, MiB(15));
  Do([&] { session_.AskRoom(MiB(1), effects_); });
  Do([&] { session_.Closed(effects_); });
  ASSERT_EQ(Kinds(), std::vector{Kind::kRoom});
}

TEST_F(LeaseSession, WantsAreSaidByMembersAlone) {
  Connect();
  Do([&] { session_.Want({MiB(1), MiB(2)}, effects_); });
  EXPECT_TRUE(effects_.empty());
  Hear({.type = Type::kWelcome, .device = kDevice}, true);
  Do([&] { session_.Want({MiB(1), MiB(2)}, effects_); });
  ASSERT_EQ(Kinds(), std::vector{Kind::kSend});
  EXPECT_EQ(effects_[0].message, (Message{.type = Type::kWant, .bytes = MiB(1), .more = MiB(2)}));
}

TEST_F(LeaseSession, TurnsAreGivenAndTaken) {
  Join();
  const auto turn = [&](TurnCode code) {
    Hear({.type = Type::kTurn, .code = static_cast<uint8_t>(code)});
    return std::pair(session_.may_evict(), session_.may_fetch());
  };
  EXPECT_EQ(turn(TurnCode::kGiveEvict), std::pair(true, false));
  EXPECT_EQ(turn(TurnCode::kGiveFetch), std::pair(true, true));
  EXPECT_EQ(turn(TurnCode::kTakeEvict), std::pair(false, true));
  EXPECT_EQ(turn(TurnCode::kTakeFetch), std::pair(false, false));
}

TEST_F(LeaseSession, WorkIsHeldUntilItsTurn) {
  Join();
  const auto turn = [&](TurnCode code, Duration time = {}) {
    Hear({.type = Type::kTurn, .code = static_cast<uint8_t>(code), .time = time});
    return session_.holds();
  };
  EXPECT_FALSE(session_.holds());
  EXPECT_TRUE(turn(TurnCode::kHoldWork, std::chrono::seconds(5)));
  EXPECT_FALSE(turn(TurnCode::kLetWork));
  // A broker that does nothing any more holds nobody up for ever,
  EXPECT_TRUE(turn(TurnCode::kHoldWork, std::chrono::seconds(5)));
  EXPECT_EQ(session_.Due(), kNow + std::chrono::seconds(5));
  session_.TimePasses(kNow + std::chrono::seconds(4), effects_);
  EXPECT_TRUE(session_.holds());
  session_.TimePasses(kNow + std::chrono::seconds(5), effects_);
  EXPECT_FALSE(session_.holds());
  // nor does one that says so,
  EXPECT_TRUE(turn(TurnCode::kHoldWork, Duration::max()));
  session_.TimePasses(kNow + std::chrono::hours(1), effects_);
  EXPECT_FALSE(session_.holds());
  // nor one that is gone.
  EXPECT_TRUE(turn(TurnCode::kHoldWork, std::chrono::seconds(5)));
  session_.Closed(effects_);
  EXPECT_FALSE(session_.holds());
}

TEST_F(LeaseSession, ABrokerThatBreaksTheRulesIsLeft) {
  Connect();
  effects_.clear();
  const std::vector<uint8_t> garbage(64, 0xff);
  session_.Received(kNow, garbage, false, effects_);
  ExpectLeft();
  Hear({.type = Type::kGrant, .revision = 1, .bytes = MiB(2)});
  ExpectLeft();
  Hear({.type = Type::kWelcome, .device = kDevice}, false);
  ExpectLeft();
  Hear({.type = Type::kWelcome}, true);
  ExpectLeft();
  Join();
  Hear({.type = Type::kWelcome, .device = kDevice}, true);
  ExpectLeft();
}

TEST_F(LeaseSession, ARevisionThatDoesNotFollowTheLastEndsIt) {
  Join();
  Grant(2, MiB(2));
  ExpectLeft();
  Grant(1, MiB(2));
  EXPECT_EQ(Kinds(), std::vector{Kind::kGrant});
  for (const uint64_t revision : {uint64_t{0}, uint64_t{1}, uint64_t{3}}) {
    Grant(revision, MiB(4));
    ExpectLeft();
    Recall(revision, MiB(2), Memory::kHost);
    ExpectLeft();
  }
  EXPECT_EQ(session_.grants().device, MiB(2));
  Recall(2, MiB(1), Memory::kHost);
  EXPECT_EQ(Kinds(), std::vector{Kind::kRecall});
  Do([&] { session_.Closed(effects_); });
  Connect();
  Hear({.type = Type::kWelcome, .device = kDevice}, true);
  Grant(1, MiB(4));
  ExpectLeft();
  Grant(3, MiB(4));
  EXPECT_EQ(Kinds(), std::vector{Kind::kGrant}) << "who was adopted goes on counting";
}

TEST_F(LeaseSession, WhatALaterBrokerSaysIsIgnored) {
  Join();
  auto later = Encode({.type = Type::kGrant, .revision = 9});
  later[4] = 240;
  effects_.clear();
  session_.Received(kNow, later, false, effects_);
  EXPECT_TRUE(effects_.empty());
  EXPECT_EQ(session_.state(), State::kMember);
}

TEST_F(LeaseSession, AtTheEndItSaysGoodbye) {
  Join();
  Do([&] { session_.End(effects_); });
  ASSERT_EQ(Kinds(), (std::vector{Kind::kSend, Kind::kClose}));
  EXPECT_EQ(effects_[0].message.type, Type::kBye);
}

TEST(LeaseReconnect, IsWithinItsBounds) {
  EXPECT_EQ(ReconnectDelay(0), std::chrono::milliseconds(100));
  for (uint64_t i = 1; i < 1000; ++i) {
    const Duration delay = ReconnectDelay(i * 0x9e3779b97f4a7c15);
    EXPECT_GE(delay, std::chrono::milliseconds(100));
    EXPECT_LE(delay, std::chrono::milliseconds(1500));
  }
}

}  // namespace
}  // namespace vramspan::lease
