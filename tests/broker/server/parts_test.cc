// The daemon's parts by themselves: what reads others' text, and what a tenant may cost.
#include <gmock/gmock.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <filesystem>
#include <fstream>

#include "tests/broker/server/lingering.h"
#include "tools/broker/core/decide.h"
#include "tools/broker/server/allowance.h"
#include "tools/broker/server/configuration.h"
#include "tools/broker/server/hang_up.h"
#include "tools/broker/server/host_memory.h"
#include "tools/broker/server/options.h"
#include "tools/broker/server/reform.h"
#include "tools/broker/server/roll.h"
#include "tools/broker/server/socket.h"
#include "tools/broker/words/cgroup.h"
#include "tools/broker/words/policy_bound.h"

namespace vramspan::broker {
namespace {

using testing::HasSubstr;

TEST(Cgroup, OfTheKernelsText) {
  EXPECT_EQ(CgroupOf("0::/system.slice/a.service\n"), "/system.slice/a.service");
  EXPECT_EQ(CgroupOf("4:memory:/docker/x\n0::/\n"), "/docker/x");
  EXPECT_EQ(CgroupOf("4:cpu,memory:/docker/x\n0::/y:z\n"), "/y:z");
  EXPECT_EQ(CgroupOf("0::relative\nnonsense\n:::\n"), "/");
  EXPECT_EQ(CgroupOf(""), "/");
}

TEST(Cgroup, AUserIsOneTenant) {
  EXPECT_EQ(TenantOf("/user.slice/user-1000.slice/session-3.scope"), "/user.slice/user-1000.slice");
  EXPECT_EQ(TenantOf("/user.slice/user-1000.slice"), "/user.slice/user-1000.slice");
  EXPECT_EQ(TenantOf("/user.slice/user-1000"), "/user.slice/user-1000");
  EXPECT_EQ(TenantOf("/system.slice/a.service"), "/system.slice/a.service");
}

TEST(Cgroup, Within) {
  EXPECT_TRUE(IsWithin("/a/b", "/a"));
  EXPECT_TRUE(IsWithin("/a", "/a"));
  EXPECT_FALSE(IsWithin("/ab", "/a"));
  EXPECT_FALSE(IsWithin("/", "/a"));
  EXPECT_TRUE(IsWithin("/a", "/"));
}

TEST(Accounts, TheNearestKnownTakesTheProcess) {
  Accounts accounts;
  const Instant now;
  Account& a = accounts.For("/a", now);
  // Nobody is there yet.
  EXPECT_NE(&accounts.For("/a/b", now), &a);
  a.connections = 1;
  EXPECT_EQ(&accounts.For("/a/c", now), &a);
  accounts.At("/a/d", now).source = Source::kFile;
  EXPECT_EQ(accounts.For("/a/d/e", now).cgroup, "/a/d");
  // Who is in the root takes nobody in.
  accounts.At("/", now).connections = 1;
  EXPECT_EQ(accounts.For("/z", now).cgroup, "/z");
}

TEST(Accounts, TheErasedIsNobodysParent) {
  Accounts accounts;
  Account& outer = accounts.At("/a", Instant());
  Account& inner = accounts.At("/a/b", Instant());
  inner.parent = &outer;
  accounts.Erase(outer);
  EXPECT_EQ(inner.parent, nullptr);
}

TEST(Configuration, IsRead) {
  const auto tenant = ReadTenant("d/train.toml",
                                 "cgroup = \"/a/\"\nweight = 7\nguarantee = \"1GiB\"\n"
                                 "limit = \"none\"\nhost_guarantee = 4096\nclass = \"latency\"\n");
  ASSERT_TRUE(tenant.ok()) << tenant.status();
  EXPECT_EQ(tenant->name, "train");
  EXPECT_EQ(tenant->cgroup, "/a");
  EXPECT_EQ(tenant->policy.weight, 7u);
  EXPECT_EQ(tenant->policy.guarantee[Place::kDevice], GiB(1));
  EXPECT_EQ(tenant->policy.guarantee[Place::kHost], Bytes(4096));
  EXPECT_EQ(tenant->policy.klass, Class::kLatency);
}

TEST(Configuration, ErrorsSayWhere) {
  const auto error = [](const char* text) {
    return std::string(ReadTenant("f.toml", text).status().message());
  };
  EXPECT_THAT(error("cgroup = \"/a\"\nwait = 2\n"), HasSubstr("f.toml:2: 'wait' is not known"));
  EXPECT_THAT(error("cgroup = \"a\"\n"), HasSubstr("f.toml:1: cgroup: 'a' is no path"));
  EXPECT_THAT(error("cgroup = \"/a\"\n\nweight = 1.5\n"), HasSubstr("f.toml:3: weight"));
  EXPECT_THAT(error("weight = -3\n"), HasSubstr("f.toml:1: weight: '-3'"));
  EXPECT_THAT(error("\ncgroup = /a\n"), HasSubstr("f.toml:2: "));
  EXPECT_THAT(error("name = \"x\"\n"), HasSubstr("no cgroup"));
}

// As docs/sharing.md shows the file.
TEST(Configuration, WhatContainersMayHaveAtMost) {
  const std::string folder = ::testing::TempDir() + "/vramspan-most-" + std::to_string(getpid());
  std::filesystem::create_directory(folder);
  const auto none = ReadMostOfContainers(folder);
  ASSERT_TRUE(none.ok()) << none.status();
  std::ofstream(folder + "/containers.toml")
      << "weight = 100\nguarantee = \"0\"\nlimit = \"none\"\nclass = \"normal\"\n";
  const auto shown = ReadMostOfContainers(folder);
  ASSERT_TRUE(shown.ok()) << shown.status();
  EXPECT_TRUE(SamePolicy(*none, *shown));
  std::ofstream(folder + "/containers.toml") << "\ncgroup = \"/a\"\n";
  EXPECT_THAT(std::string(ReadMostOfContainers(folder).status().message()),
              HasSubstr("containers.toml:2: 'cgroup' is not known"));
  std::filesystem::remove_all(folder);
}

TEST(HostUse, OfMeminfo) {
  const auto use = ReadMeminfo("MemTotal:       1024 kB\nMemFree: 1 kB\nMemAvailable:  512 kB\n");
  ASSERT_TRUE(use.has_value());
  EXPECT_EQ(use->total, MiB(1));
  EXPECT_EQ(use->available, KiB(512));
  EXPECT_FALSE(ReadMeminfo("MemTotal: many kB\n").has_value());
}

TEST(Roll, CountsTheLiving) {
  const std::string uuid = UuidText({1});
  const std::string self = std::to_string(getpid());
  EXPECT_EQ(
      LivingIn(self + " " + uuid + "\n" + self + " " + uuid + "\n-1 " + uuid + "\nx\n")[Uuid{1}],
      2u);
  EXPECT_TRUE(LivingIn("0 " + uuid + "\n" + self + " GPU-1\n").empty());
}

// Where the kernel lets descriptors through: they are seen, never taken, and not waited for.
TEST(HangUp, WaitsForNoDescriptor) {
  int pair[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
  const int on = 1;
  ASSERT_EQ(setsockopt(pair[1], SOL_SOCKET, SO_PASSCRED, &on, sizeof on), 0);
  ASSERT_EQ(send(pair[0], "ab", 2, 0), 2);
  broker_test::Lingering lingering;
  ASSERT_TRUE(lingering.PassTo(pair[0], {'c'}));
  std::array<uint8_t, 8> buffer;
  const auto before = std::chrono::steady_clock::now();
  const Received first = Receive(pair[1], buffer);
  EXPECT_EQ(first.kind, Received::Kind::kDatagram);
  EXPECT_EQ(first.size, 2u);
  EXPECT_EQ(Receive(pair[1], buffer).kind, Received::Kind::kDescriptors);
  EXPECT_EQ(Receive(pair[1], buffer).kind, Received::Kind::kDescriptors);
  close(pair[0]);
  HangUp(Fd(pair[1]));
  EXPECT_LT(std::chrono::steady_clock::now() - before, std::chrono::seconds(5));
}

TEST(Allowance, IsATwoHundredthOfACore) {
  Allowance allowance{Instant()};
  EXPECT_TRUE(allowance.full());
  allowance.Charge(Allowance::kMost);
  EXPECT_TRUE(allowance.empty());
  allowance.Fill(Instant(std::chrono::seconds(1)));
  allowance.Charge(std::chrono::milliseconds(4));
  EXPECT_FALSE(allowance.empty());
  allowance.Charge(std::chrono::milliseconds(1));
  EXPECT_TRUE(allowance.empty());
  // A single thing that took long shuts nobody out for longer than it takes to fill.
  allowance.Charge(std::chrono::hours(1));
  allowance.Fill(Instant(std::chrono::seconds(52)));
  EXPECT_FALSE(allowance.empty());
}

TEST(Options, Capacity) {
  EXPECT_EQ(ParseCapacity("device=8GiB,host=1GiB")->device, GiB(8));
  for (const char* const bad : {"", "8GiB", "device=8GiB", "device=8,hose=1", "device=x,host=1"}) {
    EXPECT_FALSE(ParseCapacity(bad).ok()) << bad;
  }
}

class Reforms : public testing::Test {
 protected:
  Reforms() {
    Device& device = devices_[Uuid{1}];
    device.name = UuidText({1});
    Decide(device.state, {Instant(), CapacityIs{Place::kDevice, GiB(9)}});
    Decide(device.state, {Instant(), CapacityIs{Place::kHost, GiB(9)}});
  }
  static WantedTenant Wanted(const std::string& cgroup, Bytes guarantee) {
    WantedTenant tenant = {.name = cgroup, .cgroup = cgroup, .where = cgroup};
    tenant.policy.guarantee[Place::kDevice] = guarantee;
    return tenant;
  }
  Status Do(const std::vector<WantedTenant>& wanted) {
    const auto reform = PlanReform(accounts_, devices_, wanted, Instant());
    if (!reform.ok()) return reform.status();
    for (const Happening& event : reform->events) {
      for (const Action& action : Decide(devices_.begin()->second.state, {Instant(), event})) {
        EXPECT_NE(action.kind, Action::Kind::kRefuse);
      }
    }
    Conclude(accounts_, *reform);
    return absl::OkStatus();
  }
  const Tenant& At(const std::string& cgroup) {
    return devices_.begin()->second.state.tenants.at(accounts_.FindCgroup(cgroup)->id);
  }

  Accounts accounts_;
  Devices devices_;
};

TEST_F(Reforms, GuaranteesChangeHands) {
  ASSERT_TRUE(Do({Wanted("/a", GiB(6)), Wanted("/b", GiB(2))}).ok());
  ASSERT_TRUE(Do({Wanted("/a", GiB(1)), Wanted("/b", GiB(7))}).ok());
  EXPECT_EQ(At("/b").policy.guarantee[Place::kDevice], GiB(7));
}

TEST_F(Reforms, InsideOthers) {
  ASSERT_TRUE(Do({Wanted("/a/b", GiB(6))}).ok());
  EXPECT_EQ(At("/a/b").parent, kRoot);
  ASSERT_TRUE(Do({Wanted("/a/b", GiB(6)), Wanted("/a", GiB(8))}).ok());
  EXPECT_EQ(At("/a/b").parent, At("/a").id);
  EXPECT_THAT(Do({Wanted("/a/b", GiB(6)), Wanted("/a", GiB(5))}).message(), HasSubstr("/a"));
  ASSERT_TRUE(Do({Wanted("/a", GiB(5))}).ok());
  EXPECT_TRUE(Do({}).ok());
  EXPECT_EQ(devices_.begin()->second.state.tenants.size(), 1u);
}

TEST_F(Reforms, NothingChangesWhereOneIsRefused) {
  ASSERT_TRUE(Do({Wanted("/a", GiB(6))}).ok());
  EXPECT_FALSE(Do({Wanted("/a", GiB(1)), Wanted("/b", GiB(8))}).ok());
  EXPECT_EQ(At("/a").policy.guarantee[Place::kDevice], GiB(6));
  EXPECT_FALSE(Do({Wanted("/a", GiB(1)), Wanted("/a", GiB(1))}).ok());
}

}  // namespace
}  // namespace vramspan::broker
