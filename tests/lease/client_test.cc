// The lease's thread, against a broker that does what the test says.
#include "runtime/lease/client.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <set>
#include <thread>

#include "tests/lease/fake_member.h"
#include "tests/lease/scripted_broker.h"

namespace vramspan::lease {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using vramspan_test::BrokersPeer;
using vramspan_test::Pages;
using vramspan_test::ScriptedBroker;

using vramspan_test::FakeMember;
using vramspan_test::kDevice;

class LeaseClient : public ::testing::Test {
 protected:
  LeaseClient() {
    folder_ = (std::filesystem::temp_directory_path() / "vramspan-lease-XXXXXX").string();
    if (mkdtemp(folder_.data()) == nullptr) std::abort();
    broker_ = std::make_unique<ScriptedBroker>(folder_);
  }
  ~LeaseClient() override {
    client_.reset();
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  Status Start() {
    VS_ASSIGN_OR_RETURN(const BrokerPlace place, ParseBrokerPlace(folder_, ""));
    VS_ASSIGN_OR_RETURN(client_, Client::Start(place, kDevice, &member_));
    return absl::OkStatus();
  }
  // A member with these grants.
  void Join(Bytes device, Bytes host) {
    const Status started = Start();
    ASSERT_TRUE(started.ok()) << started;
    Greet(Type::kHello);
    peer_->Grant(Memory::kDevice, device);
    peer_->Grant(Memory::kHost, host);
    ASSERT_TRUE(client_->AwaitGrants(seconds(10)));
    ASSERT_TRUE(Granted(device));
  }
  Message Greet(Type with) {
    peer_ = broker_->Accept();
    if (peer_ == nullptr) return {};
    const std::optional<Message> hello = peer_->Receive();
    EXPECT_TRUE(hello.has_value());
    if (!hello.has_value()) return {};
    EXPECT_EQ(hello->type, with);
    EXPECT_EQ(hello->device, kDevice);
    peer_->Welcome(*hello);
    return *hello;
  }
  bool Granted(Bytes device) {
    return member_.Await([&](const Standing& s) { return s.device() == device; });
  }

  std::string folder_;
  std::unique_ptr<ScriptedBroker> broker_;
  std::unique_ptr<BrokersPeer> peer_;
  FakeMember member_;
  std::unique_ptr<Client> client_;
};

TEST(LeaseTrust, IsForRootAndTheSameUserAlone) {
  EXPECT_TRUE(MayTrust(/*peer=*/0, /*own=*/1000).ok());
  EXPECT_TRUE(MayTrust(1000, 1000).ok());
  EXPECT_TRUE(MayTrust(0, 0).ok());
  EXPECT_TRUE(absl::IsPermissionDenied(MayTrust(1001, 1000)));
  EXPECT_TRUE(absl::IsPermissionDenied(MayTrust(1000, 0))) << "nor does root trust a user";
  EXPECT_TRUE(absl::IsPermissionDenied(MayTrust(65534, 1000)));
}

TEST_F(LeaseClient, ABrokerWithAFullQueueIsWaitedForAndNotPassedOver) {
  const std::string path = folder_ + "/broker.sock";
  std::vector<int> others;
  StatusOr<int> other = 0;
  while ((other = Connection::Open({&path, 1})).ok()) others.push_back(*other);
  EXPECT_TRUE(absl::IsUnavailable(other.status())) << other.status();
  const std::vector<std::string> two = {path, folder_ + "/nobody"};
  EXPECT_TRUE(absl::IsUnavailable(Connection::Open(two).status()));
  const Status started = Start();
  ASSERT_TRUE(started.ok()) << started;
  EXPECT_FALSE(client_->AwaitGrants(milliseconds(50)));
  EXPECT_FALSE(member_.standing().absent);
  for (size_t i = 0; i < others.size(); ++i) ASSERT_NE(broker_->Accept(), nullptr);
  Greet(Type::kHello);
  peer_->Grant(Memory::kDevice, MiB(8));
  EXPECT_TRUE(Granted(MiB(8)));
  EXPECT_EQ(member_.standing().connections, 1u);
  for (const int socket : others) close(socket);
}

TEST_F(LeaseClient, WithoutABrokerThereIsNone) {
  broker_.reset();
  EXPECT_TRUE(absl::IsNotFound(Start()));
}

TEST_F(LeaseClient, GrantsArriveAndThePageIsWritten) {
  Join(MiB(64), MiB(32));
  EXPECT_EQ(member_.standing().host(), MiB(32));
  member_.Says({.used_device = MiB(10), .wanted_device = Bytes(0), .cached = MiB(3)});
  EXPECT_TRUE(peer_->AwaitPage(
      [](const ProcessPage& p) { return p.used_device == MiB(10) && p.cached == MiB(3); }));
  const uint64_t beat = peer_->Page().beat;
  EXPECT_TRUE(peer_->AwaitPage([&](const ProcessPage& p) { return p.beat > beat; }));
}

TEST_F(LeaseClient, ARecallIsAnsweredWhenTheMemoryIsBackAndNotBefore) {
  Join(MiB(64), MiB(32));
  member_.Has(MiB(60), MiB(0));
  peer_->Recall(Memory::kDevice, MiB(24), seconds(600));
  ASSERT_TRUE(Granted(MiB(40))) << "recalled memory may not be used";
  client_->Look();
  EXPECT_FALSE(peer_->Await(Type::kAck, milliseconds(100)).has_value());
  member_.Has(MiB(40), MiB(0));
  client_->Look();
  const std::optional<Message> ack = peer_->Await(Type::kAck);
  ASSERT_TRUE(ack.has_value());
  EXPECT_EQ(ack->code, 0);
  EXPECT_EQ(ack->revision, 3u);
  EXPECT_TRUE(Granted(MiB(40)));
}

TEST_F(LeaseClient, AtTheDeadlineItSaysHowMuchThereIs) {
  Join(MiB(64), MiB(32));
  member_.Has(MiB(60), MiB(0));
  peer_->Recall(Memory::kDevice, MiB(24), milliseconds(80));
  std::optional<Message> ack = peer_->Await(Type::kAck);
  ASSERT_TRUE(ack.has_value());
  EXPECT_EQ(ack->code, 1);
  EXPECT_EQ(ack->bytes, MiB(4));
  member_.Has(MiB(60), MiB(0));
  peer_->Recall(Memory::kDevice, MiB(24), milliseconds(80));
  ack = peer_->Await(Type::kAck);
  ASSERT_TRUE(ack.has_value());
  EXPECT_EQ(ack->code, 2);
}

TEST_F(LeaseClient, WantsAreSaidAtOnceAndOnce) {
  Join(MiB(64), MiB(32));
  member_.Says({.wanted_device = MiB(6)});
  client_->Look();
  const std::optional<Message> want = peer_->Await(Type::kWant);
  ASSERT_TRUE(want.has_value());
  EXPECT_EQ(want->bytes, MiB(6));
  client_->Look();
  EXPECT_FALSE(peer_->Await(Type::kWant, milliseconds(100)).has_value());
}

TEST_F(LeaseClient, RoomIsAwaitedForASecondAtMost) {
  Join(MiB(64), MiB(32));
  Bytes room;
  std::thread asks([&] { room = client_->AskRoom(MiB(8)); });
  ASSERT_EQ(peer_->Await(Type::kRoom)->bytes, MiB(8));
  peer_->Send({.type = Type::kRoomGiven, .bytes = MiB(8)});
  asks.join();
  EXPECT_EQ(room, MiB(8));
  const auto before = std::chrono::steady_clock::now();
  EXPECT_EQ(client_->AskRoom(MiB(8)), Bytes(0));
  EXPECT_GE(std::chrono::steady_clock::now() - before, milliseconds(900));
  ASSERT_EQ(peer_->Await(Type::kRoom)->bytes, MiB(8));
  peer_->Send({.type = Type::kRoomGiven, .bytes = MiB(8)});
  const std::optional<Message> back = peer_->Await(Type::kRoomBack);
  ASSERT_TRUE(back.has_value()) << "nobody waits for it any more";
  EXPECT_EQ(back->bytes, MiB(8));
}

TEST_F(LeaseClient, ABrokerThatDiesAndComesBackAdopts) {
  Join(MiB(64), MiB(32));
  broker_.reset();
  peer_.reset();
  ASSERT_TRUE(member_.Await([](const Standing& s) { return s.state == Session::State::kApart; }));
  EXPECT_EQ(member_.standing().device(), MiB(64)) << "the last grants stay";
  broker_ = std::make_unique<ScriptedBroker>(folder_);
  const Message adopt = Greet(Type::kAdopt);
  EXPECT_EQ(adopt.bytes, MiB(64));
  EXPECT_EQ(adopt.more, MiB(32));
  EXPECT_EQ(adopt.revision, 2u);
  peer_->Grant(Memory::kDevice, MiB(48));
  EXPECT_TRUE(Granted(MiB(48)));
  EXPECT_EQ(member_.standing().connections, 2u);
}

TEST_F(LeaseClient, WhoIsNotAdoptedEmptiesItselfAndSaysHello) {
  Join(MiB(64), MiB(32));
  member_.Has(MiB(60), MiB(0));
  peer_->Close();
  peer_ = broker_->Accept();
  ASSERT_EQ(peer_->Receive()->type, Type::kAdopt);
  peer_->Send({.type = Type::kRefuse, .code = static_cast<uint8_t>(RefuseCode::kNotNow)});
  ASSERT_TRUE(Granted(Bytes(0)));
  EXPECT_FALSE(peer_->Receive(milliseconds(100)).has_value());
  member_.Has(MiB(0), MiB(0));
  client_->Look();
  const std::optional<Message> hello = peer_->Receive();
  ASSERT_TRUE(hello.has_value());
  EXPECT_EQ(hello->type, Type::kHello);
  peer_->Welcome(*hello);
  peer_->Grant(Memory::kDevice, MiB(16));
  EXPECT_TRUE(Granted(MiB(16)));
  member_.Says({.used_device = MiB(2)});
  EXPECT_TRUE(peer_->AwaitPage([](const ProcessPage& p) { return p.used_device == MiB(2); }))
      << "the new page is written";
}

TEST_F(LeaseClient, WhoIsRefusedHearsSo) {
  ASSERT_TRUE(Start().ok());
  peer_ = broker_->Accept();
  ASSERT_TRUE(peer_->Receive().has_value());
  peer_->Send({.type = Type::kRefuse, .code = static_cast<uint8_t>(RefuseCode::kDenied)});
  EXPECT_FALSE(client_->AwaitGrants(seconds(10)));
  EXPECT_TRUE(member_.Await(
      [](const Standing& s) { return s.refusal == static_cast<uint8_t>(RefuseCode::kDenied); }));
}

TEST_F(LeaseClient, NobodyWaitsLongForASilentBroker) {
  ASSERT_TRUE(Start().ok());
  EXPECT_FALSE(client_->AwaitGrants(milliseconds(50)));
  // What it says later counts.
  Greet(Type::kHello);
  peer_->Grant(Memory::kDevice, MiB(8));
  EXPECT_TRUE(Granted(MiB(8)));
}

TEST_F(LeaseClient, GarbageEndsTheConnectionAndKeepsTheGrants) {
  Join(MiB(64), MiB(32));
  peer_->SendBytes(std::vector<uint8_t>(64, 0xee));
  EXPECT_TRUE(peer_->AwaitEnd());
  EXPECT_EQ(member_.standing().device(), MiB(64));
  EXPECT_EQ(Greet(Type::kAdopt).bytes, MiB(64));
  peer_->SendBytes(std::vector<uint8_t>(2000, 1));
  EXPECT_TRUE(peer_->AwaitEnd());
}

TEST_F(LeaseClient, PagesThatCouldShrinkAreNotTaken) {
  ASSERT_TRUE(Start().ok());
  for (const Pages pages : {Pages::kUnsealed, Pages::kShort, Pages::kOne, Pages::kNone}) {
    peer_ = broker_->Accept();
    ASSERT_NE(peer_, nullptr);
    const std::optional<Message> hello = peer_->Receive();
    ASSERT_TRUE(hello.has_value());
    peer_->Welcome(*hello, GiB(1), GiB(1), pages);
    EXPECT_TRUE(peer_->AwaitEnd()) << static_cast<int>(pages);
  }
  Greet(Type::kHello);
  peer_->Grant(Memory::kDevice, MiB(8));
  EXPECT_TRUE(Granted(MiB(8)));
}

TEST_F(LeaseClient, ABrokerThatReadsNothingHoldsNobodyUp) {
  Join(MiB(64), MiB(32));
  // More than a socket takes: the member wants ever more.
  for (uint64_t i = 1; i < 400; ++i) {
    member_.Says({.wanted_device = KiB(i)});
    client_->Look();
    std::this_thread::sleep_for(milliseconds(1));
  }
  peer_->Grant(Memory::kDevice, MiB(50));
  EXPECT_TRUE(Granted(MiB(50)));
}

TEST_F(LeaseClient, AProgramThatClosesAllDescriptorsKeepsItsLease) {
  const pid_t child = fork();
  if (child == 0) {
    // ThreadSanitizer takes the numbers of two tables for the same descriptors.
    setenv("TSAN_OPTIONS", "report_bugs=0", 1);
    execl(CLOSING_PROGRAM, CLOSING_PROGRAM, folder_.c_str(), nullptr);
    _exit(127);
  }
  Greet(Type::kHello);
  peer_->Grant(Memory::kDevice, MiB(64));
  peer_->Grant(Memory::kHost, MiB(64));
  const uint64_t beat = peer_->Page().beat;
  EXPECT_TRUE(peer_->AwaitPage([&](const ProcessPage& p) { return p.beat > beat + 5; }));
  peer_->Grant(Memory::kDevice, MiB(24));
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(peer_->AwaitEnd()) << "it ends with the process";
}

TEST_F(LeaseClient, AChildOfForkHasNoPartInIt) {
  Join(MiB(64), MiB(32));
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    close(ends[1]);
    char byte;
    // Until the test has seen the end of the connection.
    _exit(read(ends[0], &byte, 1) == 1 ? 0 : 1);
  }
  close(ends[0]);
  client_.reset();
  EXPECT_EQ(peer_->Receive()->type, Type::kBye);
  EXPECT_TRUE(peer_->AwaitEnd(seconds(5))) << "the child has the connection";
  EXPECT_EQ(write(ends[1], "", 1), 1);
  close(ends[1]);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST_F(LeaseClient, TheThreadTakesNoSignal) {
  Join(MiB(64), MiB(32));
  bool found = false;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream name(task.path() / "comm"), status(task.path() / "status");
    std::string line;
    std::getline(name, line);
    if (line != "vramspan-lease") continue;
    while (std::getline(status, line)) {
      if (!line.starts_with("SigBlk:")) continue;
      const uint64_t blocked = std::stoull(line.substr(7), nullptr, 16);
      found = (blocked >> (SIGUSR1 - 1) & 1) != 0 && (blocked >> (SIGTERM - 1) & 1) != 0;
    }
  }
  EXPECT_TRUE(found);
}

TEST(BrokerPlaceTest, IsAsTheUserSays) {
  EXPECT_FALSE(ParseBrokerPlace("off", "/run/user/1")->asked);
  const StatusOr<BrokerPlace> any = ParseBrokerPlace("", "/run/user/1");
  EXPECT_EQ(any->sockets, (std::vector<std::string>{"/run/vramspan/broker.sock",
                                                    "/run/user/1/vramspan/broker.sock"}));
  EXPECT_FALSE(any->required);
  EXPECT_TRUE(ParseBrokerPlace("require", "")->required);
  EXPECT_EQ(ParseBrokerPlace("/a b", "")->sockets, std::vector<std::string>{"/a b/broker.sock"});
  EXPECT_FALSE(ParseBrokerPlace("on", "").ok());
  EXPECT_FALSE(ParseBrokerPlace("relative/path", "").ok());
  EXPECT_FALSE(ParseBrokerPlace("/" + std::string(200, 'x'), "").ok());
}

}  // namespace
}  // namespace vramspan::lease
