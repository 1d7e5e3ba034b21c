// Programs that know nothing of vramspan, whose memory a broker shares out. The broker does what
// the test says (tests/lease/scripted_broker.h); the driver itself tells how much each has.
#include <gmock/gmock.h>
#include <stdlib.h>

#include <csignal>
#include <filesystem>
#include <thread>

#include "tests/lease/scripted_broker.h"
#include "tests/preload/device_monitor.h"
#include "tests/preload/told_program.h"

namespace vramspan_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using vramspan::GiB;
using vramspan::MiB;
using vramspan::lease::AckCode;
using vramspan::lease::RefuseCode;
using vramspan::lease::TurnCode;

constexpr Bytes kNone{0};
// What a program's context takes, the mover's as much again, and a granule for the mover's words.
constexpr int kContexts = 34;

class PreloadLease : public ::testing::Test {
 protected:
  PreloadLease() {
    folder_ = (std::filesystem::temp_directory_path() / "vramspan-lease-XXXXXX").string();
    if (mkdtemp(folder_.data()) == nullptr) abort();
    broker_ = std::make_unique<ScriptedBroker>(folder_);
    UsedMiB();
  }
  ~PreloadLease() override {
    program_.reset();
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  // What all have of the first device, as the driver says.
  static int UsedMiB() { return DeviceMonitor::Get().UsedMiB(); }
  void Start(std::map<std::string, std::string> environment = {}) {
    environment.try_emplace("VRAMSPAN_BROKER", folder_);
    program_ = std::make_unique<ToldProgram>(folder_, environment);
    ASSERT_EQ(program_->Line(), "ready") << program_->err();
  }
  // The program connects when it first asks for memory.
  std::unique_ptr<BrokersPeer> Accept(Bytes device, Bytes host,
                                      Bytes device_limit = Bytes(~uint64_t{0})) {
    std::unique_ptr<BrokersPeer> peer = broker_->Accept();
    if (peer == nullptr) return nullptr;
    hello_ = peer->Receive().value_or(Message{});
    EXPECT_EQ(hello_.type, Type::kHello);
    peer->Welcome(hello_, device_limit);
    peer->Grant(Memory::kDevice, device);
    peer->Grant(Memory::kHost, host);
    return peer;
  }
  void ExpectDone(const std::string& line) {
    EXPECT_EQ(program_->Do(line), "done") << line << ": " << program_->err();
  }
  void ExpectEnd() {
    ExpectDone("check");
    EXPECT_EQ(program_->End(), 0) << program_->err();
  }
  // Answers what a mover asks for its context, where it does.
  static void AllowRoom(BrokersPeer* peer) {
    const std::optional<Message> room = peer->Await(Type::kRoom);
    ASSERT_TRUE(room.has_value());
    peer->Send({.type = Type::kRoomGiven, .bytes = room->bytes});
  }

  std::string folder_;
  std::unique_ptr<ScriptedBroker> broker_;
  std::unique_ptr<ToldProgram> program_;
  Message hello_;
};

TEST_F(PreloadLease, MemoryFollowsTheGrantsDownAndUp) {
  Start({{"VRAMSPAN_STATS", "-"}});
  program_->Tell("alloc 24");  // 96 MiB.
  const std::unique_ptr<BrokersPeer> peer = Accept(MiB(64), MiB(512));
  ASSERT_NE(peer, nullptr);
  AllowRoom(peer.get());
  EXPECT_EQ(program_->Line(), "done") << program_->err();
  EXPECT_TRUE(peer->AwaitPage(
      [](const ProcessPage& p) { return p.used_device == MiB(64) && p.wanted_device == MiB(32); }));
  // Down: 24 MiB are left, and the driver has the rest when it is said.
  program_->Tell("work 30");
  peer->Recall(Memory::kDevice, MiB(40), seconds(60));
  std::optional<Message> ack = peer->Await(Type::kAck, seconds(60));
  ASSERT_TRUE(ack.has_value()) << program_->err();
  EXPECT_EQ(ack->code, static_cast<uint8_t>(AckCode::kDone));
  EXPECT_EQ(ack->revision, 3u);
  EXPECT_LE(UsedMiB(), 24 + kContexts);
  EXPECT_EQ(program_->Line(), "done");
  ExpectDone("check");
  EXPECT_LE(UsedMiB(), 24 + kContexts);
  // To nothing at all: the host serves it.
  peer->Recall(Memory::kDevice, MiB(24), seconds(60));
  ack = peer->Await(Type::kAck, seconds(60));
  ASSERT_TRUE(ack.has_value());
  EXPECT_EQ(ack->code, static_cast<uint8_t>(AckCode::kDone));
  EXPECT_LE(UsedMiB(), kContexts);
  ExpectDone("work 2");
  ExpectDone("check");
  EXPECT_LE(UsedMiB(), kContexts);
  // Up: what is used comes back.
  peer->Grant(Memory::kDevice, MiB(128));
  ExpectDone("work 30");
  EXPECT_TRUE(peer->AwaitPage([](const ProcessPage& p) {
    return p.used_device >= MiB(90) && p.wanted_device <= MiB(6);
  })) << peer->Page().used_device.value
      << " used, " << peer->Page().wanted_device.value;
  ExpectEnd();
  EXPECT_THAT(program_->err(), HasSubstr("shared by a broker         3 grants, 2 recalls, 0 rec"));
}

// Work that is submitted while others have the GPU waits until its turn, or until nobody can give
// it that any more.
TEST_F(PreloadLease, NewWorkWaitsForItsTurn) {
  Start();
  program_->Tell("alloc 24");
  const std::unique_ptr<BrokersPeer> peer = Accept(MiB(64), MiB(512));
  ASSERT_NE(peer, nullptr);
  AllowRoom(peer.get());
  EXPECT_EQ(program_->Line(), "done") << program_->err();
  ExpectDone("work 2");
  EXPECT_TRUE(peer->AwaitPage([](const ProcessPage& p) {
    return (p.flags & ProcessPage::kHolds) != 0 && p.works > 0 &&
           (p.flags & ProcessPage::kWaits) == 0;
  }));
  const auto hold = [&](seconds time) {
    peer->Send(
        {.type = Type::kTurn, .code = static_cast<uint8_t>(TurnCode::kHoldWork), .time = time});
    // It has heard it when it has answered what was asked behind that, and then something else.
    for (int i = 0; i < 2; ++i) {
      peer->Recall(Memory::kDevice, MiB(2), seconds(60));
      EXPECT_TRUE(peer->Await(Type::kAck, seconds(60)).has_value());
    }
  };
  const auto waits = [](const ProcessPage& p) { return (p.flags & ProcessPage::kWaits) != 0; };
  hold(seconds(600));
  program_->Tell("work 2");
  EXPECT_TRUE(peer->AwaitPage(waits));
  const uint64_t works = peer->Page().works;
  EXPECT_EQ(program_->Line(milliseconds(300)), "") << "it worked beside its turn";
  EXPECT_EQ(peer->Page().works, works);
  peer->Send({.type = Type::kTurn, .code = static_cast<uint8_t>(TurnCode::kLetWork)});
  EXPECT_EQ(program_->Line(), "done");
  // The broker forgets it.
  hold(seconds(1));
  ExpectDone("work 2");
  // The broker dies.
  hold(seconds(600));
  program_->Tell("work 2");
  EXPECT_TRUE(peer->AwaitPage(waits));
  peer->Close();
  EXPECT_EQ(program_->Line(), "done");
  ExpectEnd();
}

TEST_F(PreloadLease, RoomIsAskedForAContextAndWhatItDidNotTakeGoesBack) {
  Start();
  program_->Tell("alloc 24");
  const std::unique_ptr<BrokersPeer> peer = Accept(MiB(64), MiB(512));
  ASSERT_NE(peer, nullptr);
  const std::optional<Message> room = peer->Await(Type::kRoom);
  ASSERT_TRUE(room.has_value());
  EXPECT_EQ(room->bytes, MiB(20)) << "a sixteenth of this device";
  EXPECT_LE(UsedMiB(), 64 + kContexts / 2) << "the context is not made yet";
  peer->Send({.type = Type::kRoomGiven, .bytes = room->bytes});
  const std::optional<Message> back = peer->Await(Type::kRoomBack);
  ASSERT_TRUE(back.has_value());
  EXPECT_GE(back->bytes, MiB(2));
  EXPECT_LE(back->bytes, MiB(4));
  EXPECT_EQ(program_->Line(), "done");
  ExpectEnd();
}

TEST_F(PreloadLease, RoomThatAnotherProgramMadeIsNotTakenForAContextWithoutMemory) {
  const std::string peers_folder = folder_ + "/peer";
  std::filesystem::create_directory(peers_folder);
  ToldProgram other(peers_folder, {{"VRAMSPAN_BROKER", "off"}});
  ASSERT_EQ(other.Line(), "ready") << other.err();
  ASSERT_EQ(other.Do("alloc 12"), "done") << other.err();
  Start();
  program_->Tell("alloc 24");
  const std::unique_ptr<BrokersPeer> peer = Accept(MiB(64), MiB(512));
  ASSERT_NE(peer, nullptr);
  const std::optional<Message> room = peer->Await(Type::kRoom);
  ASSERT_TRUE(room.has_value());
  // What is free rises by more than the context takes.
  EXPECT_EQ(other.End(), 0) << other.err();
  peer->Send({.type = Type::kRoomGiven, .bytes = room->bytes});
  const std::optional<Message> back = peer->Await(Type::kRoomBack);
  ASSERT_TRUE(back.has_value());
  EXPECT_LE(back->bytes, MiB(4)) << "of 20 MiB the context took 16";
  EXPECT_EQ(program_->Line(), "done");
  ExpectEnd();
}

TEST_F(PreloadLease, WhatIsPutToTheHostIsSaidAtOnce) {
  Start();
  program_->Tell("alloc 4");
  const std::unique_ptr<BrokersPeer> peer = Accept(kNone, MiB(512));
  ASSERT_NE(peer, nullptr);
  const std::optional<Message> want = peer->Await(Type::kWant);
  ASSERT_TRUE(want.has_value());
  EXPECT_GE(want->bytes, MiB(2));
  EXPECT_EQ(program_->Line(), "done");
  EXPECT_LE(UsedMiB(), kContexts);
  peer->Grant(Memory::kDevice, MiB(64));
  ExpectDone("work 20");
  EXPECT_TRUE(peer->AwaitPage([](const ProcessPage& p) { return p.used_device >= MiB(14); }));
  ExpectEnd();
}

TEST_F(PreloadLease, NobodyIsOutOfMemoryWhileSomeCanBeHad) {
  Start();
  program_->Tell("try 8");
  const std::unique_ptr<BrokersPeer> peer = Accept(MiB(4), MiB(4));
  ASSERT_NE(peer, nullptr);
  EXPECT_TRUE(peer->AwaitPage([](const ProcessPage& p) { return p.wanted_host >= MiB(4); }));
  peer->Grant(Memory::kHost, MiB(16));
  EXPECT_TRUE(peer->AwaitPage([](const ProcessPage& p) { return p.used_host >= MiB(16); }));
  peer->Grant(Memory::kDevice, MiB(64));
  EXPECT_EQ(program_->Line(), "done");
  // Where there is none the program hears so, in a second or so.
  EXPECT_EQ(program_->Do("try 40"), "no 2");
  ExpectEnd();
}

TEST_F(PreloadLease, WithoutRoomOnTheHostARecallIsAnsweredInTime) {
  Start();
  program_->Tell("alloc 16");
  const std::unique_ptr<BrokersPeer> peer = Accept(MiB(64), kNone);
  ASSERT_NE(peer, nullptr);
  EXPECT_EQ(program_->Line(), "done");
  peer->Recall(Memory::kDevice, MiB(32), milliseconds(200));
  const std::optional<Message> ack = peer->Await(Type::kAck);
  ASSERT_TRUE(ack.has_value());
  EXPECT_EQ(ack->code, static_cast<uint8_t>(AckCode::kDeferred));
  peer->Grant(Memory::kHost, MiB(64));
  peer->Recall(Memory::kDevice, MiB(32), seconds(60));
  EXPECT_EQ(peer->Await(Type::kAck, seconds(60))->code, static_cast<uint8_t>(AckCode::kDone));
  EXPECT_LE(UsedMiB(), 32 + kContexts);
  ExpectDone("work 2");
  ExpectEnd();
}

TEST_F(PreloadLease, MemoryInfoIsOfTheLimitAndNotOfTheGrant) {
  Start();
  program_->Tell("info");
  const std::unique_ptr<BrokersPeer> peer = Accept(MiB(64), MiB(512), MiB(100));
  ASSERT_NE(peer, nullptr);
  EXPECT_EQ(program_->Line(), "100 100");
  ExpectDone("alloc 5");
  EXPECT_EQ(program_->Do("info"), "80 100");
  peer->Grant(Memory::kDevice, MiB(10));
  EXPECT_TRUE(peer->AwaitPage([](const ProcessPage& p) { return p.used_device <= MiB(10); }));
  EXPECT_EQ(program_->Do("info"), "80 100");
  ExpectEnd();
}

TEST_F(PreloadLease, NoMoreIsFreeThanTheUserAllowsOfDeviceAndHost) {
  Start({{"VRAMSPAN_DEVICE_MEMORY", "16MiB"}, {"VRAMSPAN_HOST_MEMORY", "32MiB"}});
  program_->Tell("info");
  const std::unique_ptr<BrokersPeer> peer = Accept(MiB(64), MiB(512));
  ASSERT_NE(peer, nullptr);
  EXPECT_EQ(program_->Line(), "48 320");
  ExpectDone("alloc 5");
  EXPECT_EQ(program_->Do("info"), "28 320");
  ExpectEnd();
}

TEST_F(PreloadLease, ABrokerThatGrantsTheDeviceAloneHasAnswered) {
  Start();
  program_->Tell("alloc 4");
  const std::unique_ptr<BrokersPeer> peer = broker_->Accept();
  ASSERT_NE(peer, nullptr);
  peer->Welcome(peer->Receive().value_or(Message{}));
  peer->Grant(Memory::kDevice, MiB(64));
  EXPECT_EQ(program_->Line(), "done");
  EXPECT_TRUE(peer->AwaitPage([](const ProcessPage& p) { return p.used_device == MiB(16); }));
  EXPECT_THAT(program_->err(), Not(HasSubstr("does not answer")));
  ExpectEnd();
}

TEST_F(PreloadLease, TheUsersBudgetIsACeilingBesideTheGrant) {
  Start({{"VRAMSPAN_DEVICE_MEMORY", "16MiB"}});
  program_->Tell("alloc 8");
  const std::unique_ptr<BrokersPeer> peer = Accept(MiB(128), MiB(512));
  ASSERT_NE(peer, nullptr);
  EXPECT_EQ(program_->Line(), "done");
  ExpectDone("work 5");
  EXPECT_LE(UsedMiB(), 16 + kContexts);
  EXPECT_TRUE(peer->AwaitPage([](const ProcessPage& p) { return p.used_host >= MiB(16); }));
  EXPECT_EQ(peer->Page().wanted_device, kNone) << "no grant would help";
  ExpectEnd();
}

TEST_F(PreloadLease, ABrokerThatIsKilledAndComesBackIsNotNoticed) {
  Start({{"VRAMSPAN_STATS", "-"}});
  program_->Tell("alloc 24");
  std::unique_ptr<BrokersPeer> peer = Accept(MiB(64), MiB(512));
  ASSERT_NE(peer, nullptr);
  EXPECT_EQ(program_->Line(), "done");
  broker_.reset();
  peer.reset();
  ExpectDone("work 10");
  ExpectDone("check");
  EXPECT_LE(UsedMiB(), 64 + kContexts);
  broker_ = std::make_unique<ScriptedBroker>(folder_);
  peer = broker_->Accept();
  ASSERT_NE(peer, nullptr);
  const std::optional<Message> adopt = peer->Receive();
  ASSERT_TRUE(adopt.has_value());
  EXPECT_EQ(adopt->type, Type::kAdopt);
  EXPECT_EQ(adopt->bytes, MiB(64));
  EXPECT_EQ(adopt->more, MiB(512));
  peer->Welcome(*adopt);
  // Less than it had: it shrinks to that.
  peer->Grant(Memory::kDevice, MiB(32));
  EXPECT_TRUE(peer->AwaitPage([](const ProcessPage& p) { return p.used_device <= MiB(32); }));
  ExpectDone("work 5");
  ExpectEnd();
  EXPECT_THAT(program_->err(), HasSubstr("1 reconnections"));
}

TEST_F(PreloadLease, WhoIsNotAdoptedEmptiesTheDeviceAndLosesNothing) {
  Start();
  program_->Tell("alloc 8");
  std::unique_ptr<BrokersPeer> peer = Accept(MiB(64), MiB(512));
  ASSERT_NE(peer, nullptr);
  EXPECT_EQ(program_->Line(), "done");
  peer->Close();
  peer = broker_->Accept();
  ASSERT_NE(peer, nullptr);
  ASSERT_EQ(peer->Receive()->type, Type::kAdopt);
  peer->Send({.type = Type::kRefuse, .code = static_cast<uint8_t>(RefuseCode::kNotNow)});
  const std::optional<Message> hello = peer->Receive();
  ASSERT_TRUE(hello.has_value());
  EXPECT_EQ(hello->type, Type::kHello);
  EXPECT_LE(UsedMiB(), kContexts);
  EXPECT_GE(hello->bytes, MiB(32)) << "it says what it wants first";
  peer->Welcome(*hello);
  peer->Grant(Memory::kDevice, MiB(64));
  peer->Grant(Memory::kHost, MiB(512));
  ExpectDone("work 20");
  ExpectEnd();
}

// As one that was stopped.
TEST_F(PreloadLease, ASilentBrokerHoldsNobodyUp) {
  Start();
  ExpectDone("alloc 8");
  EXPECT_THAT(program_->err(), HasSubstr("the broker does not answer yet"));
  EXPECT_LE(UsedMiB(), kContexts);
  ExpectDone("work 5");
  ExpectDone("check");
  const std::unique_ptr<BrokersPeer> peer = Accept(MiB(64), MiB(512));
  ASSERT_NE(peer, nullptr);
  ExpectDone("work 20");
  EXPECT_TRUE(peer->AwaitPage([](const ProcessPage& p) { return p.used_device >= MiB(30); }));
  ExpectEnd();
}

TEST_F(PreloadLease, GarbageChangesNothing) {
  Start();
  program_->Tell("alloc 24");
  const std::unique_ptr<BrokersPeer> peer = Accept(MiB(64), MiB(512));
  ASSERT_NE(peer, nullptr);
  EXPECT_EQ(program_->Line(), "done");
  peer->SendBytes(std::vector<uint8_t>(64, 0x5a));
  EXPECT_TRUE(peer->AwaitEnd());
  ExpectDone("work 5");
  EXPECT_LE(UsedMiB(), 64 + kContexts);
  ExpectEnd();
}

TEST_F(PreloadLease, WithoutABrokerAllIsAsEver) {
  broker_.reset();
  Start();
  ExpectDone("alloc 24");
  EXPECT_THAT(program_->err(), HasSubstr("no broker shares the memory of this process"));
  ExpectEnd();
  // The one that nobody named is not missed.
  Start({{"VRAMSPAN_BROKER", ""}, {"XDG_RUNTIME_DIR", folder_}});
  ExpectDone("alloc 24");
  EXPECT_GE(UsedMiB(), 96);
  ExpectEnd();
  EXPECT_THAT(program_->err(), IsEmpty());
}

TEST_F(PreloadLease, WhoWantsNoneIsNotSeen) {
  Start({{"VRAMSPAN_BROKER", "off"}, {"XDG_RUNTIME_DIR", folder_}});
  ExpectDone("alloc 4");
  EXPECT_EQ(broker_->Accept(milliseconds(100)), nullptr);
  ExpectEnd();
}

TEST_F(PreloadLease, WhoInsistsOnABrokerDoesNotStartWithoutOne) {
  broker_.reset();
  program_ = std::make_unique<ToldProgram>(
      folder_, std::map<std::string, std::string>{{"VRAMSPAN_BROKER", "require"},
                                                  {"XDG_RUNTIME_DIR", folder_}});
  // Of eight threads at once, and again.
  EXPECT_EQ(program_->Line(), "init 802");
  EXPECT_EQ(program_->End(), 1);
  EXPECT_THAT(program_->err(), HasSubstr("cuInit fails: VRAMSPAN_BROKER: 'require', but none"));
}

TEST_F(PreloadLease, WhoInsistsAndIsRefusedGetsNoMemory) {
  std::filesystem::create_directory(folder_ + "/vramspan");
  broker_ = std::make_unique<ScriptedBroker>(folder_ + "/vramspan");
  Start({{"VRAMSPAN_BROKER", "require"}, {"XDG_RUNTIME_DIR", folder_}});
  program_->Tell("try 1");
  // cuInit only looked whether somebody listens, in each thread that called it early enough.
  std::unique_ptr<BrokersPeer> peer;
  int looks = -1;
  do {
    peer = broker_->Accept();
    ASSERT_NE(peer, nullptr);
    ++looks;
  } while (!peer->Receive().has_value());
  EXPECT_GE(looks, 1);
  peer->Send({.type = Type::kRefuse, .code = static_cast<uint8_t>(RefuseCode::kDenied)});
  EXPECT_EQ(program_->Line(), "no 802");
  EXPECT_EQ(program_->Do("try 1"), "no 802");
  EXPECT_EQ(program_->Do("others"), "pitched 802, managed 802, array 802");
  EXPECT_THAT(program_->err(), HasSubstr("the broker refuses this process: denied"));
  EXPECT_EQ(program_->End(), 0);
}

// What OptiX uses stays where it is, and no broker could have it back.
TEST_F(PreloadLease, WhoInsistsAndUsesOptixGetsNoMoreMemory) {
  std::filesystem::create_directory(folder_ + "/vramspan");
  broker_ = std::make_unique<ScriptedBroker>(folder_ + "/vramspan");
  Start({{"VRAMSPAN_BROKER", "require"},
         {"XDG_RUNTIME_DIR", folder_},
         {"PROGRAM_OPTIX", FAKE_OPTIX_FOLDER "/libnvoptix.so.1"}});
  EXPECT_EQ(program_->Do("optix"), "done");
  EXPECT_EQ(program_->Do("try 1"), "no 802");
  EXPECT_EQ(program_->Do("others"), "pitched 802, managed 802, array 802");
  EXPECT_THAT(program_->err(), HasSubstr("the program gets no more memory: it uses OptiX"));
  EXPECT_EQ(program_->End(), 0);
}

TEST_F(PreloadLease, WhoUsesOptixWithoutInsistingHasTheDrivers) {
  Start({{"PROGRAM_OPTIX", FAKE_OPTIX_FOLDER "/libnvoptix.so.1"}});
  EXPECT_EQ(program_->Do("optix"), "done");
  ExpectDone("alloc 4");
  ExpectDone("work 2");
  ExpectEnd();
}

TEST_F(PreloadLease, AProgramThatClosesWhatItDoesNotKnowOrForksKeepsItsLease) {
  Start();
  program_->Tell("alloc 16");
  const std::unique_ptr<BrokersPeer> peer = Accept(MiB(64), MiB(512));
  ASSERT_NE(peer, nullptr);
  EXPECT_EQ(program_->Line(), "done");
  Bytes grant = MiB(64);
  for (const char* const does : {"fork", "close", "closefrom", "fork"}) {
    SCOPED_TRACE(does);
    ExpectDone(does);
    const uint64_t beat = peer->Page().beat;
    EXPECT_TRUE(peer->AwaitPage([&](const ProcessPage& p) { return p.beat > beat + 2; }));
    peer->Recall(Memory::kDevice, MiB(12), seconds(60));
    const std::optional<Message> ack = peer->Await(Type::kAck, seconds(60));
    ASSERT_TRUE(ack.has_value());
    EXPECT_EQ(ack->code, static_cast<uint8_t>(AckCode::kDone));
    grant -= MiB(12);
    EXPECT_TRUE(peer->AwaitPage([&](const ProcessPage& p) { return p.used_device <= grant; }));
    ExpectDone("work 2");
  }
  ExpectEnd();
}

TEST_F(PreloadLease, EachDeviceHasALeaseOfItsOwn) {
  Start();
  program_->Tell("alloc 8");
  const std::unique_ptr<BrokersPeer> first = Accept(MiB(16), MiB(512));
  ASSERT_NE(first, nullptr);
  const auto device = hello_.device;
  EXPECT_EQ(program_->Line(), "done");
  ExpectDone("check");
  ExpectDone("free");
  ExpectDone("device 1");
  program_->Tell("alloc 8");
  const std::unique_ptr<BrokersPeer> second = Accept(MiB(24), MiB(512));
  ASSERT_NE(second, nullptr);
  EXPECT_NE(hello_.device, device);
  EXPECT_EQ(program_->Line(), "done");
  EXPECT_TRUE(second->AwaitPage([](const ProcessPage& p) { return p.used_device == MiB(24); }));
  EXPECT_LE(first->Page().used_device, MiB(16));
  ExpectEnd();
}

TEST_F(PreloadLease, AStoppedProgramGoesOnWhereItWas) {
  Start();
  program_->Tell("alloc 16");
  const std::unique_ptr<BrokersPeer> peer = Accept(MiB(64), MiB(512));
  ASSERT_NE(peer, nullptr);
  EXPECT_EQ(program_->Line(), "done");
  program_->Signal(SIGSTOP);
  peer->Recall(Memory::kDevice, MiB(32), milliseconds(100));
  EXPECT_FALSE(peer->Await(Type::kAck, milliseconds(300)).has_value());
  program_->Signal(SIGCONT);
  EXPECT_TRUE(peer->Await(Type::kAck).has_value()) << "late is better than never";
  ExpectDone("work 3");
  ExpectEnd();
}

}  // namespace
}  // namespace vramspan_test
