// What an operator does: the configuration, `set`, and what `vramspan broker` shows.
#include <gmock/gmock.h>
#include <signal.h>

#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/broker/server/program.h"

namespace vramspan::broker_test {
namespace {

using testing::HasSubstr;

Output Broker(const Daemon& daemon, const std::string& arguments) {
  return RunBinary("", "broker " + arguments + " --run-directory '" + daemon.run() + "'");
}

TEST(Operator, StatusIsATableAndJson) {
  Daemon daemon;
  daemon.WriteTenant("train.toml",
                     "cgroup = \"/a\"\nweight = 300\nguarantee = \"2GiB\"\nlimit = \"6GiB\"\n"
                     "class = \"batch\"\nhost_limit = \"20GiB\"\n");
  daemon.Start();
  Program a(daemon, "/a");
  a.BeGreedy(kAll);
  ASSERT_TRUE(Until({&a}, [&] { return a.grant() == GiB(6); }));
  const Output table = Broker(daemon, "status");
  EXPECT_EQ(table.code, 0) << table.err;
  EXPECT_THAT(table.out, HasSubstr("GPU-01010101-0101-0101-0101-010101010101"));
  EXPECT_THAT(table.out, HasSubstr("train"));
  EXPECT_THAT(table.out, HasSubstr("batch"));
  EXPECT_THAT(table.out, HasSubstr(std::to_string(a.pid())));
  const Output json = Broker(daemon, "status --format json");
  ASSERT_EQ(json.code, 0) << json.err;
  const auto report = nlohmann::json::parse(json.out);
  EXPECT_EQ(report["schema"], "vramspan.broker-status");
  EXPECT_EQ(report["schema_version"], 1);
  EXPECT_EQ(report["broker"]["pid"], daemon.pid());
  EXPECT_EQ(report["broker"]["enforcement"], "cooperative");
  const auto& device = report["devices"].at(0);
  EXPECT_EQ(device["device_memory"]["capacity_bytes"], GiB(9).value);
  EXPECT_EQ(device["reserve_bytes"], GiB(1).value);
  EXPECT_EQ(device["device_memory"]["held_bytes"], GiB(6).value);
  const auto& tenant = device["tenants"].at(0);
  EXPECT_EQ(tenant["name"], "train");
  EXPECT_EQ(tenant["cgroup"], "/a");
  EXPECT_EQ(tenant["weight"], 300);
  EXPECT_EQ(tenant["guarantee_bytes"], GiB(2).value);
  EXPECT_EQ(tenant["limit_bytes"], GiB(6).value);
  EXPECT_EQ(tenant["host_limit_bytes"], GiB(20).value);
  EXPECT_EQ(tenant["class"], "batch");
  const auto& process = tenant["processes"].at(0);
  EXPECT_EQ(process["pid"], a.pid());
  EXPECT_EQ(process["state"], "steady");
  EXPECT_EQ(process["device_memory"]["grant_bytes"], GiB(6).value);
  EXPECT_EQ(process["device_memory"]["target_bytes"], GiB(6).value);
}

TEST(Operator, SetHoldsAtOnce) {
  Daemon daemon;
  daemon.Start();
  Program a(daemon, "/a"), b(daemon, "/b");
  a.BeGreedy(kAll);
  b.BeGreedy(kAll);
  ASSERT_TRUE(Until({&a, &b}, [&] { return b.grant() >= GiB(4) - MiB(2); }));
  const Output set = Broker(daemon, "set /a weight=300 class=batch");
  EXPECT_EQ(set.code, 0) << set.err;
  EXPECT_TRUE(Until({&a, &b}, [&] { return a.grant() >= GiB(6) - MiB(2); })) << a.grant().value;
  EXPECT_EQ(daemon.Set("/b", "guarantee", "4GiB"), "");
  EXPECT_TRUE(Until({&a, &b}, [&] { return b.grant() >= GiB(4) - MiB(2); })) << b.grant().value;
  EXPECT_EQ(daemon.Set("/a", "limit", "1GiB"), "");
  EXPECT_TRUE(Until({&a, &b}, [&] { return a.grant() <= GiB(1); })) << a.grant().value;
}

TEST(Operator, RefusalsAreWords) {
  Daemon daemon;
  daemon.WriteTenant("a.toml", "name = \"first\"\ncgroup = \"/a\"\nguarantee = \"5GiB\"\n");
  daemon.Start();
  Program p(daemon, "/p");
  p.Hello(GiB(1));
  ASSERT_TRUE(Until({&p}, [&] { return p.welcomed(); }));
  EXPECT_THAT(daemon.Set("/b", "guarantee", "4GiB"), HasSubstr("8192 MiB of device memory"));
  EXPECT_THAT(daemon.Set("first", "limit", "4GiB"), HasSubstr("no more than the limit"));
  EXPECT_THAT(daemon.Set("first", "weight", "0"), HasSubstr("'0' is not a weight; use 1 to 10000"));
  EXPECT_THAT(daemon.Set("first", "class", "best"), HasSubstr("batch, normal or latency"));
  EXPECT_THAT(daemon.Set("first", "limit", "8Gib"), HasSubstr("not a unit"));
  EXPECT_THAT(daemon.Set("first", "wait", "2"), HasSubstr("'wait' is not known"));
  EXPECT_THAT(daemon.Set("nobody", "weight", "2"), HasSubstr("no tenant 'nobody'"));
  const Output set = Broker(daemon, "set first weight");
  EXPECT_EQ(set.code, 2);
  EXPECT_THAT(set.err, HasSubstr("KEY=VALUE"));
  EXPECT_EQ(Broker(daemon, "set first weight=0").code, 1);
  for (const char* const request :
       {"", "x", "[]", "{}", "{\"verb\":1}", "{\"verb\":\"drain\",\"who\":1}",
        "{\"verb\":\"set\",\"tenant\":\"first\"}",
        "{\"verb\":\"set\",\"tenant\":\"a\",\"changes\":{\"a\":1}}"}) {
    if (request[0] == '\0') continue;
    EXPECT_THAT(daemon.Ask(request).at(0), HasSubstr("\"error\"")) << request;
  }
}

TEST(Operator, TheConfigurationIsReadAgain) {
  Daemon daemon;
  daemon.Start();
  Program a(daemon, "/a");
  a.BeGreedy(kAll);
  ASSERT_TRUE(Until({&a}, [&] { return a.grant() == kAll; }));
  daemon.WriteTenant("a.toml", "cgroup = \"/a\"\nlimit = \"3GiB\"\n");
  ASSERT_TRUE(Until({&a}, [&] { return a.grant() == GiB(3); })) << a.grant().value;
  daemon.WriteTenant("bad.toml", "cgroup = \"/b\"\n\nweight = \"much\"\n");
  daemon.WaitToSay("bad.toml:3: weight: 'much' is not a weight");
  daemon.WriteTenant("bad.toml", "cgroup = \"/b\"\nguarantee = \"9GiB\"\n");
  daemon.WaitToSay("bad.toml: the guarantees would be more");
  daemon.WriteTenant("bad.toml", "cgroup = [\n");
  daemon.WaitToSay("bad.toml:1: ");
  EXPECT_EQ(a.grant(), GiB(3));
  daemon.RemoveTenant("bad.toml");
  daemon.RemoveTenant("a.toml");
  EXPECT_TRUE(Until({&a}, [&] { return a.grant() == kAll; })) << a.grant().value;
}

// Nobody watches the folder that is there now.
TEST(Operator, AHangupReadsTheConfiguration) {
  Daemon daemon;
  daemon.Start();
  Program a(daemon, "/a");
  a.BeGreedy(kAll);
  ASSERT_TRUE(Until({&a}, [&] { return a.grant() == kAll; }));
  std::filesystem::rename(daemon.config() + "/tenants.d", daemon.config() + "/before");
  daemon.WriteTenant("a.toml", "cgroup = \"/a\"\nlimit = \"3GiB\"\n");
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(300);
  ASSERT_TRUE(Until({&a}, [&] { return std::chrono::steady_clock::now() > end; }));
  EXPECT_EQ(a.grant(), kAll);
  daemon.Signal(SIGHUP);
  EXPECT_TRUE(Until({&a}, [&] { return a.grant() == GiB(3); })) << a.grant().value;
  // From here on it is watched.
  daemon.WriteTenant("a.toml", "cgroup = \"/a\"\nlimit = \"2GiB\"\n");
  EXPECT_TRUE(Until({&a}, [&] { return a.grant() == GiB(2); })) << a.grant().value;
}

TEST(Operator, ATenantOutlivesTheOneAroundIt) {
  Daemon daemon;
  daemon.WriteTenant("a.toml", "cgroup = \"/a\"\nlimit = \"2GiB\"\n");
  daemon.WriteTenant("b.toml", "cgroup = \"/a/b\"\n");
  daemon.Start();
  Program p(daemon, "/a/b");
  const auto has = [&](const std::string& cgroup) {
    for (const std::string& line : daemon.Ask(R"({"verb":"status"})")) {
      const auto object = nlohmann::json::parse(line);
      if (object["kind"] == "tenant" && object["cgroup"] == cgroup) return true;
    }
    return false;
  };
  Program other(daemon, "/c");
  other.Hello(MiB(2));
  ASSERT_TRUE(Until({&other}, [&] { return other.welcomed() && has("/a/b"); }));
  daemon.RemoveTenant("b.toml");
  ASSERT_TRUE(Until({&other}, [&] { return !has("/a/b"); }));
  daemon.RemoveTenant("a.toml");
  ASSERT_TRUE(Until({&other}, [&] { return !has("/a"); }));
  // Until /a is forgotten, which nothing shows: two rounds.
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(500);
  ASSERT_TRUE(Until({&other}, [&] { return std::chrono::steady_clock::now() > end; }));
  p.Hello(GiB(3));
  ASSERT_TRUE(
      Until({&p, &other}, [&] { return p.welcomed() || p.Count(lease::Type::kRefuse) > 0; }));
  ASSERT_TRUE(p.welcomed());
  EXPECT_EQ(p.heard()[0].bytes, Bytes(UINT64_MAX));
  EXPECT_TRUE(Until({&p, &other}, [&] { return p.grant() >= GiB(3); }));
}

TEST(Operator, SetReachesWhomItNames) {
  Daemon daemon;
  daemon.Start();
  Program a(daemon, "/a"), inside(daemon, "/d/x");
  a.BeGreedy(kAll);
  inside.Hello(MiB(2));
  ASSERT_TRUE(Until({&a, &inside}, [&] { return a.grant() > GiB(4) && inside.welcomed(); }));
  EXPECT_EQ(daemon.Set("//a/", "limit", "1GiB"), "");
  EXPECT_TRUE(Until({&a}, [&] { return a.grant() == GiB(1); })) << a.grant().value;
  EXPECT_THAT(daemon.Set("/user.slice/user-7.slice/session-1.scope", "limit", "1GiB"),
              HasSubstr("use /user.slice/user-7.slice"));
  EXPECT_THAT(daemon.Set("/a/../b", "limit", "1GiB"), HasSubstr("write the whole path"));
  // It would not hold for what is there already.
  EXPECT_THAT(daemon.Set("/d", "limit", "1GiB"), HasSubstr("'/d/x' has processes"));
}

TEST(Operator, AWrongConfigurationIsNotServed) {
  Daemon daemon;
  daemon.WriteTenant("a.toml", "weight = 2\n");
  EXPECT_THAT(daemon.StartInVain(), HasSubstr("a.toml:1: there is no cgroup"));
}

// No process has named a device, so there is none yet.
TEST(Operator, WhatNoDeviceCouldGiveIsRefusedBeforeThereIsOne) {
  Daemon daemon;
  daemon.WriteTenant("a.toml", "cgroup = \"/a\"\nguarantee = \"9GiB\"\n");
  EXPECT_THAT(daemon.StartInVain(), AllOf(HasSubstr("a.toml"), HasSubstr("than the device has")));
  daemon.WriteTenant("a.toml", "cgroup = \"/a\"\nguarantee = \"5GiB\"\n");
  daemon.Start();
  EXPECT_THAT(daemon.Set("/b", "guarantee", "4GiB"), HasSubstr("8192 MiB of device memory"));
  EXPECT_EQ(daemon.Set("/b", "guarantee", "3GiB"), "");
  Program p(daemon, "/a");
  p.Hello(GiB(1));
  EXPECT_TRUE(Until({&p}, [&] { return p.welcomed(); }));
}

TEST(Operator, ACapacityThatIsAllReserveIsRefused) {
  Daemon daemon;
  EXPECT_THAT(daemon.StartInVain({.capacity = "device=1GiB,host=1GiB"}),
              HasSubstr("device=1024MiB is no more than the 1024 MiB that are kept in reserve"));
}

TEST(Operator, AFolderThatCannotBeMadeIsNamed) {
  Daemon daemon;
  EXPECT_THAT(daemon.StartInVain({.options = {"--run-directory", "/no/such/folder"}}),
              HasSubstr("cannot make the folder /no/such/folder: No such file or directory"));
}

TEST(Operator, ATenantWithProcessesIsNotMoved) {
  Daemon daemon;
  daemon.WriteTenant("b.toml", "cgroup = \"/a/b\"\n");
  daemon.Start();
  Program p(daemon, "/a/b/c");
  p.Hello(GiB(1));
  ASSERT_TRUE(Until({&p}, [&] { return p.welcomed(); }));
  EXPECT_THAT(daemon.Set("/a", "weight", "200"), HasSubstr("has processes"));
  p.Kill();
  EXPECT_TRUE(Until({}, [&] { return daemon.Set("/a", "weight", "200").empty(); }));
}

TEST(Operator, NobodyIsThere) {
  const TemporaryFolder folder;
  const Output status = RunBinary("", "broker status --run-directory '" + folder.path() + "'");
  EXPECT_EQ(status.code, 1);
  EXPECT_THAT(status.err, HasSubstr("no broker is in"));
}

}  // namespace
}  // namespace vramspan::broker_test
