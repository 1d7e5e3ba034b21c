// A program that is linked with vramspan, and a broker that does what the test says.
#include <gmock/gmock.h>
#include <stdlib.h>

#include <atomic>
#include <filesystem>
#include <thread>

#include "examples/driver.h"
#include "tests/lease/scripted_broker.h"
#include "vramspan/vramspan.hpp"

namespace vramspan_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;
using vramspan::MiB;
using vramspan::Runtime;

constexpr size_t kMiB = size_t{1} << 20;

class LeasedRuntime : public ::testing::Test {
 protected:
  LeasedRuntime() {
    folder_ = (std::filesystem::temp_directory_path() / "vramspan-lease-XXXXXX").string();
    if (mkdtemp(folder_.data()) == nullptr) abort();
    broker_ = std::make_unique<ScriptedBroker>(folder_);
    setenv("VRAMSPAN_BROKER", folder_.c_str(), 1);
  }
  ~LeasedRuntime() override {
    unsetenv("VRAMSPAN_BROKER");
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  // Grants so much to the runtime that is made meanwhile.
  void Make(Bytes device, Bytes host, Bytes device_limit = Bytes(~uint64_t{0}),
            Bytes host_limit = Bytes(~uint64_t{0}), const std::string& arena = "") {
    std::thread grants([&] {
      peer_ = broker_->Accept();
      if (peer_ == nullptr) return;
      peer_->Welcome(peer_->Receive().value_or(Message{}), device_limit, host_limit);
      peer_->Grant(Memory::kDevice, device);
      peer_->Grant(Memory::kHost, host);
    });
    runtime_ = std::make_unique<Runtime>(vramspan::Config{.arena = arena, .quiet = true});
    grants.join();
    ASSERT_NE(peer_, nullptr);
  }
  template <typename Holds>
  bool AwaitStatistics(Holds holds) {
    const auto until = std::chrono::steady_clock::now() + seconds(10);
    while (!holds(runtime_->statistics())) {
      if (std::chrono::steady_clock::now() > until) return false;
      std::this_thread::sleep_for(milliseconds(2));
    }
    return true;
  }

  // How long an allocation of so much takes that must fail.
  milliseconds TimeToFail(size_t bytes) {
    const auto before = std::chrono::steady_clock::now();
    EXPECT_THROW(static_cast<void>(runtime_->alloc<char>(bytes)), std::exception);
    return std::chrono::duration_cast<milliseconds>(std::chrono::steady_clock::now() - before);
  }

  const examples::Driver driver_;
  const examples::Context context_{driver_};
  std::string folder_;
  std::unique_ptr<ScriptedBroker> broker_;
  std::unique_ptr<BrokersPeer> peer_;
  std::unique_ptr<Runtime> runtime_;
};

TEST_F(LeasedRuntime, BudgetsAreTheGrantsFromTheStart) {
  Make(MiB(32), MiB(64));
  const auto s = runtime_->statistics();
  EXPECT_EQ(s.device_budget, 32 * kMiB);
  EXPECT_EQ(s.host_budget, 64 * kMiB);
  EXPECT_EQ(s.lease_state, 2u);
  EXPECT_EQ(s.lease_grants, 2u);
  peer_->Grant(Memory::kDevice, MiB(48));
  EXPECT_TRUE(AwaitStatistics([](const auto& now) { return now.device_budget == 48 * kMiB; }));
  peer_->Close();
  EXPECT_TRUE(AwaitStatistics([](const auto& now) { return now.lease_state == 1; }));
  EXPECT_EQ(runtime_->statistics().device_budget, 48 * kMiB);
}

TEST_F(LeasedRuntime, WhatTheProgramSetsIsACeiling) {
  Make(MiB(32), MiB(64));
  runtime_->set_device_budget(16 * kMiB);
  EXPECT_TRUE(AwaitStatistics([](const auto& now) { return now.device_budget == 16 * kMiB; }));
  peer_->Grant(Memory::kDevice, MiB(64));
  runtime_->set_device_budget(128 * kMiB);
  EXPECT_TRUE(AwaitStatistics([](const auto& now) { return now.device_budget == 64 * kMiB; }));
}

TEST_F(LeasedRuntime, AtItsEndItHoldsNothingAndSaysGoodbye) {
  Make(MiB(32), MiB(64));
  {
    const auto memory = runtime_->alloc<char>(8 * kMiB);
    EXPECT_TRUE(peer_->AwaitPage([](const ProcessPage& p) { return p.used_device == MiB(8); }));
  }
  runtime_.reset();
  EXPECT_TRUE(peer_->Await(Type::kBye).has_value());
  EXPECT_TRUE(peer_->AwaitEnd());
}

TEST_F(LeasedRuntime, FreedMemoryThatIsCachedIsGivenBackWhenRecalled) {
  Make(MiB(32), MiB(64));
  { const auto memory = runtime_->alloc<char>(16 * kMiB); }
  EXPECT_TRUE(peer_->AwaitPage([](const ProcessPage& p) { return p.cached == MiB(16); }));
  peer_->Recall(Memory::kDevice, MiB(24), seconds(60));
  const auto ack = peer_->Await(Type::kAck);
  ASSERT_TRUE(ack.has_value());
  EXPECT_EQ(ack->code, 0);
  EXPECT_TRUE(peer_->AwaitPage([](const ProcessPage& p) { return p.used_device <= MiB(8); }));
}

// What keeps the one that allocates from its end, for no longer than a test may take.
class Meanwhile {
 public:
  template <typename Round>
  explicit Meanwhile(Round round)
      : thread_([this, round] {
          const auto until = std::chrono::steady_clock::now() + seconds(8);
          while (!stop_ && std::chrono::steady_clock::now() < until) round();
        }) {}
  ~Meanwhile() {
    stop_ = true;
    thread_.join();
  }

 private:
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

TEST_F(LeasedRuntime, AnAllocationThatMustFailEndsThoughGrantsComeAndGo) {
  Make(MiB(4), MiB(4));
  const Meanwhile toggles([this] {
    peer_->Grant(Memory::kDevice, MiB(6));
    std::this_thread::sleep_for(milliseconds(10));
    peer_->Grant(Memory::kDevice, MiB(4));
    std::this_thread::sleep_for(milliseconds(10));
  });
  EXPECT_LT(TimeToFail(64 * kMiB), seconds(3));
}

TEST_F(LeasedRuntime, AnAllocationThatMustFailEndsThoughRecallsAreObeyed) {
  Make(MiB(4), MiB(4));
  const Meanwhile recalls([this] {
    peer_->Grant(Memory::kDevice, MiB(8));
    std::this_thread::sleep_for(milliseconds(5));
    peer_->Recall(Memory::kDevice, MiB(4), milliseconds(200));
    static_cast<void>(peer_->Await(Type::kAck, milliseconds(400)));
  });
  EXPECT_LT(TimeToFail(64 * kMiB), seconds(3));
}

TEST_F(LeasedRuntime, ALargerGrantIsWaitedFor) {
  Make(MiB(4), MiB(4));
  std::thread grants([this] {
    EXPECT_TRUE(peer_->AwaitPage([](const ProcessPage& p) { return p.wanted_device >= MiB(16); }));
    peer_->Grant(Memory::kDevice, MiB(6));
    peer_->Grant(Memory::kDevice, MiB(16));
  });
  EXPECT_NO_THROW(static_cast<void>(runtime_->alloc<char>(16 * kMiB)));
  grants.join();
}

TEST_F(LeasedRuntime, WhatNoGrantCanGiveIsNeitherWaitedForNorWanted) {
  Make(MiB(4), MiB(4), MiB(8), MiB(4));
  std::atomic<int> wants{0};
  {
    const Meanwhile answers([&] {
      const std::optional<Message> message = peer_->Receive(milliseconds(10));
      if (!message.has_value()) return;
      if (message->type == Type::kWant) ++wants;
      // What the mover waits for is not what this is about.
      if (message->type == Type::kRoom) peer_->Send({.type = Type::kRoomGiven});
    });
    EXPECT_LT(TimeToFail(24 * kMiB), milliseconds(600));
  }
  EXPECT_EQ(wants, 0);
}

TEST_F(LeasedRuntime, NoMoreIsWantedThanIsAllowed) {
  Make(MiB(8), MiB(8), MiB(16), MiB(16));
  std::thread grants([this] {
    // The first try, which fails, may be seen while it has memory of one kind alone.
    Bytes device, host;
    while (device == Bytes(0) || host == Bytes(0)) {
      const std::optional<Message> want = peer_->Await(Type::kWant);
      ASSERT_TRUE(want.has_value());
      device = want->bytes;
      host = want->more;
      EXPECT_LE(device, MiB(8)) << "beside the 8 MiB of the limit that it has";
      EXPECT_LE(host, MiB(8));
    }
    EXPECT_EQ(device, MiB(8));
    EXPECT_EQ(host, MiB(8));
    peer_->Grant(Memory::kDevice, MiB(16));
    peer_->Grant(Memory::kHost, MiB(16));
  });
  EXPECT_NO_THROW(static_cast<void>(runtime_->alloc<char>(24 * kMiB)));
  grants.join();
}

TEST_F(LeasedRuntime, AddressesAreNotWaitedFor) {
  Make(MiB(32), MiB(64), Bytes(~uint64_t{0}), Bytes(~uint64_t{0}), "64MiB");
  EXPECT_LT(TimeToFail(128 * kMiB), milliseconds(600));
  const auto memory = runtime_->alloc<char>(40 * kMiB);
  EXPECT_LT(TimeToFail(40 * kMiB), milliseconds(600));
}

TEST_F(LeasedRuntime, WhoInsistsOnABrokerHearsWhyThereIsNone) {
  broker_.reset();
  setenv("VRAMSPAN_BROKER", "require", 1);
  setenv("XDG_RUNTIME_DIR", folder_.c_str(), 1);
  try {
    const Runtime runtime({.quiet = true});
    FAIL() << "it was made";
  } catch (const std::exception& e) {
    EXPECT_THAT(e.what(), HasSubstr("VRAMSPAN_BROKER: 'require', but none can be asked"));
  }
  setenv("VRAMSPAN_BROKER", "whatever", 1);
  try {
    const Runtime runtime({.quiet = true});
    FAIL() << "it was made";
  } catch (const std::exception& e) {
    EXPECT_THAT(e.what(), HasSubstr("VRAMSPAN_BROKER: 'whatever' is not a broker"));
  }
}

}  // namespace
}  // namespace vramspan_test
