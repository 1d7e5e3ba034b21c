// A program that is linked with vramspan, and a broker that does what the test says.
#include <gmock/gmock.h>
#include <stdlib.h>

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
  void Make(Bytes device, Bytes host) {
    std::thread grants([&] {
      peer_ = broker_->Accept();
      if (peer_ == nullptr) return;
      peer_->Welcome(peer_->Receive().value_or(Message{}));
      peer_->Grant(Memory::kDevice, device);
      peer_->Grant(Memory::kHost, host);
    });
    runtime_ = std::make_unique<Runtime>(vramspan::Config{.quiet = true});
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
