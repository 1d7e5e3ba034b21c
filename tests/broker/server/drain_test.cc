// An operator drains: what processes hear of it, what is shown, and what does not undo it.
#include <gmock/gmock.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tests/broker/server/program.h"

namespace vramspan::broker_test {
namespace {

using testing::HasSubstr;

Output Operate(const Daemon& daemon, const std::string& arguments) {
  return RunBinary("", "broker " + arguments + " --run-directory '" + daemon.run() + "'");
}

void Reread(const Daemon& daemon) {
  ASSERT_EQ(daemon.Ask(R"({"verb":"reread"})").at(0), R"({"kind":"done"})");
}

// It has heard what it has of the device: nothing.
bool IsToldNothing(const Program& program) {
  bool told = false;
  for (const lease::Message& message : program.heard()) {
    if (message.type != lease::Type::kGrant || message.memory != lease::Memory::kDevice) continue;
    if (message.bytes != GiB(0)) return false;
    told = true;
  }
  return told;
}

size_t ProcessesIn(const Daemon& daemon) {
  size_t count = 0;
  for (const std::string& line : daemon.Ask(R"({"verb":"status"})")) {
    count += nlohmann::json::parse(line)["kind"] == "process" ? 1 : 0;
  }
  return count;
}

TEST(Drain, ATenantLeavesTheDeviceAndComesBack) {
  Daemon daemon;
  daemon.WriteTenant("a.toml", "name = \"train\"\ncgroup = \"/a\"\nguarantee = \"2GiB\"\n");
  daemon.Start();
  Program a(daemon, "/a"), b(daemon, "/b");
  a.BeGreedy(kAll);
  ASSERT_TRUE(Until({&a}, [&] { return DeviceUse(daemon, a) == kAll; }));
  b.BeGreedy(kAll);
  ASSERT_TRUE(Until({&a, &b}, [&] { return b.grant() >= GiB(4) - MiB(2); }));
  const Output drain = Operate(daemon, "drain train");
  ASSERT_EQ(drain.code, 0) << drain.err;
  ASSERT_TRUE(Until({&a, &b}, [&] { return a.grant() == GiB(0) && b.grant() == kAll; }))
      << a.grant().value << " " << b.grant().value;
  EXPECT_FALSE(a.ended());
  const Output table = Operate(daemon, "status");
  EXPECT_THAT(table.out, testing::ContainsRegex("train .* drained +normal"));
  EXPECT_THAT(table.out, HasSubstr("steady, drained"));
  EXPECT_THAT(table.out, testing::ContainsRegex("broker [0-9]+ since [0-9]+ s in "));
  EXPECT_THAT(table.out, testing::ContainsRegex("recalls +moved +since\n"));
  EXPECT_THAT(table.out, testing::ContainsRegex(" [0-9]+ s\n"));
  const auto report = nlohmann::json::parse(Operate(daemon, "status --format json").out);
  EXPECT_EQ(report["broker"]["drained"], false);
  const auto& tenants = report["devices"].at(0)["tenants"];
  for (const auto& tenant : tenants) {
    EXPECT_EQ(tenant["drained"], tenant["name"] == "train");
    if (tenant["name"] == "train") {
      EXPECT_GE(tenant["recalls"], 1);
    }
    if (tenant["name"] == "train") {
      EXPECT_GE(tenant["recalled_bytes"], GiB(4).value - MiB(2).value);
    }
    for (const auto& process : tenant["processes"]) EXPECT_LT(process["connected_seconds"], 60);
  }
  const Output undrain = Operate(daemon, "undrain /a");
  ASSERT_EQ(undrain.code, 0) << undrain.err;
  EXPECT_TRUE(Until({&a, &b}, [&] { return a.grant() >= GiB(4) - MiB(2); })) << a.grant().value;
}

TEST(Drain, NoConfigurationUndoesIt) {
  Daemon daemon;
  daemon.WriteTenant("a.toml", "cgroup = \"/a\"\n");
  daemon.Start();
  Program a(daemon, "/a");
  a.BeGreedy(kAll);
  ASSERT_TRUE(Until({&a}, [&] { return a.grant() == kAll; }));
  ASSERT_EQ(Operate(daemon, "drain /a").code, 0);
  ASSERT_TRUE(Until({&a}, [&] { return a.grant() == GiB(0); }));
  daemon.WriteTenant("a.toml", "cgroup = \"/a\"\nguarantee = \"3GiB\"\nname = \"other\"\n");
  daemon.WriteTenant("b.toml", "cgroup = \"/b\"\n");
  Reread(daemon);
  EXPECT_EQ(daemon.Set("/a", "weight", "900"), "");
  daemon.RemoveTenant("a.toml");
  Reread(daemon);
  a.Say(Bytes(), kAll);
  // Somebody comes, and gets all that is free.
  Program c(daemon, "/c");
  c.BeGreedy(kAll);
  ASSERT_TRUE(Until({&a, &c}, [&] { return c.grant() == kAll; }));
  EXPECT_EQ(a.grant(), GiB(0));
  // All of its processes end, and its tenant is taken out: it is drained yet.
  a.Kill();
  c.Kill();
  ASSERT_TRUE(Until({}, [&] { return ProcessesIn(daemon) == 0; }));
  daemon.WriteTenant("a.toml", "cgroup = \"/a\"\n");
  Reread(daemon);
  daemon.RemoveTenant("a.toml");
  Reread(daemon);
  {
    Program again(daemon, "/a/inside");
    again.BeGreedy(kAll);
    ASSERT_TRUE(Until({&again}, [&] { return again.heard().size() >= 2; }));
    EXPECT_TRUE(Until({&again}, [&] { return IsToldNothing(again); }));
  }
  ASSERT_TRUE(Until({}, [&] { return ProcessesIn(daemon) == 0; }));
  // Taken out, and there again.
  daemon.WriteTenant("a.toml", "cgroup = \"/a\"\n");
  Reread(daemon);
  daemon.RemoveTenant("a.toml");
  Reread(daemon);
  daemon.WriteTenant("a.toml", "cgroup = \"/a\"\n");
  Reread(daemon);
  Program again(daemon, "/a/inside");
  again.BeGreedy(kAll);
  ASSERT_TRUE(Until({&again}, [&] { return again.heard().size() >= 2; }));
  EXPECT_TRUE(Until({&again}, [&] { return IsToldNothing(again); }));
  ASSERT_EQ(Operate(daemon, "undrain /a").code, 0);
  EXPECT_TRUE(Until({&again}, [&] { return again.grant() == kAll; }));
}

TEST(Drain, ATenantInsideStaysDrainedThoughTheOneAroundIsTakenOut) {
  Daemon daemon;
  daemon.WriteTenant("a.toml", "cgroup = \"/a\"\n");
  daemon.WriteTenant("x.toml", "cgroup = \"/a/x\"\n");
  daemon.WriteTenant("y.toml", "cgroup = \"/a/y\"\n");
  daemon.Start();
  ASSERT_EQ(Operate(daemon, "drain /a").code, 0);
  daemon.RemoveTenant("a.toml");
  daemon.RemoveTenant("y.toml");
  Reread(daemon);
  // One that stayed a tenant, one that comes to be one again, and one beside.
  daemon.WriteTenant("y.toml", "cgroup = \"/a/y\"\n");
  Reread(daemon);
  Program x(daemon, "/a/x"), y(daemon, "/a/y"), b(daemon, "/ab");
  for (Program* const p : {&x, &y, &b}) p->BeGreedy(kAll);
  ASSERT_TRUE(Until({&x, &y, &b}, [&] { return b.grant() == kAll; })) << b.grant().value;
  EXPECT_TRUE(Until({&x, &y, &b}, [&] { return IsToldNothing(x) && IsToldNothing(y); }));
  // By its own name nothing inside was drained.
  EXPECT_THAT(Operate(daemon, "undrain /a/x").err, HasSubstr("was not drained"));
  ASSERT_EQ(Operate(daemon, "drain /a/y").code, 0);
  ASSERT_EQ(Operate(daemon, "undrain /a").code, 0);
  EXPECT_TRUE(Until({&x, &y, &b}, [&] { return x.grant() >= GiB(4) - MiB(2); }));
  EXPECT_EQ(y.grant(), GiB(0));
}

TEST(Drain, ATenantWithNobodyInItIsRemembered) {
  Daemon daemon;
  daemon.Start();
  Program c(daemon, "/c");
  c.Hello(MiB(2));
  {
    Program p(daemon, "/p"), q(daemon, "/q");
    p.Hello(MiB(2));
    q.Hello(MiB(2));
    ASSERT_TRUE(Until({&p, &q}, [&] { return p.welcomed() && q.welcomed(); }));
    ASSERT_EQ(Operate(daemon, "drain /p").code, 0);
  }
  // Who is not drained is forgotten.
  ASSERT_TRUE(Until({&c}, [&] {
    const auto lines = daemon.Ask(R"({"verb":"status"})");
    return std::none_of(lines.begin(), lines.end(), [](const std::string& line) {
      return line.find("\"/q\"") != std::string::npos;
    });
  }));
  Program again(daemon, "/p");
  again.BeGreedy(kAll);
  ASSERT_TRUE(Until({&again, &c}, [&] { return again.heard().size() >= 2; }));
  EXPECT_TRUE(Until({&again}, [&] { return IsToldNothing(again); }));
}

TEST(Drain, WhoComesIsLetInWithNothing) {
  Daemon daemon;
  daemon.Start();
  ASSERT_EQ(Operate(daemon, "drain").code, 0);
  // The device is not known yet.
  Program a(daemon, "/a");
  a.Hello(GiB(1), GiB(1));
  ASSERT_TRUE(Until({&a}, [&] { return a.host() >= GiB(1); }));
  EXPECT_TRUE(a.welcomed());
  EXPECT_EQ(a.Count(lease::Type::kRefuse), 0);
  // It need not wait for its first word.
  EXPECT_TRUE(Until({&a}, [&] { return IsToldNothing(a); }));
  EXPECT_EQ(a.grant(), GiB(0));
  EXPECT_THAT(Operate(daemon, "status").out, HasSubstr("everybody is drained"));
  EXPECT_THAT(Operate(daemon, "undrain /a").err, HasSubstr("everybody is"));
  ASSERT_EQ(Operate(daemon, "undrain").code, 0);
  EXPECT_TRUE(Until({&a}, [&] { return a.grant() == kAll; }));
}

TEST(Drain, AProcessStaysDrainedWhenItConnectsAgain) {
  Daemon daemon;
  daemon.Start();
  Program a1(daemon, "/a"), a2(daemon, "/a");
  a1.BeGreedy(kAll);
  a2.BeGreedy(kAll);
  ASSERT_TRUE(Until({&a1, &a2}, [&] { return a2.grant() >= GiB(4) - MiB(2); }));
  ASSERT_EQ(Operate(daemon, "drain " + std::to_string(a1.pid())).code, 0);
  ASSERT_TRUE(Until({&a1, &a2}, [&] { return a1.grant() == GiB(0) && a2.grant() == kAll; }));
  a1.Reconnect();
  // A process has one connection for each device: until the end of the first is seen.
  ASSERT_TRUE(Until({&a2}, [&] {
    const auto lines = daemon.Ask(R"({"verb":"status"})");
    return std::none_of(lines.begin(), lines.end(), [&](const std::string& line) {
      const auto object = nlohmann::json::parse(line);
      return object["kind"] == "process" && object["pid"] == a1.pid() && object["state"] != "dying";
    });
  }));
  a1.BeGreedy(kAll);
  ASSERT_TRUE(Until({&a1, &a2}, [&] { return a1.welcomed(); }));
  EXPECT_EQ(a1.grant(), GiB(0));
  const std::string json = Operate(daemon, "status --format json").out;
  const auto report = nlohmann::json::parse(json);
  for (const auto& process : report["devices"].at(0)["tenants"].at(0)["processes"]) {
    EXPECT_EQ(process["drained"], process["pid"] == a1.pid()) << json;
  }
  ASSERT_EQ(Operate(daemon, "undrain " + std::to_string(a1.pid())).code, 0);
  EXPECT_TRUE(Until({&a1, &a2}, [&] { return a1.grant() >= GiB(4) - MiB(2); }));
}

TEST(Drain, RefusalsAreWords) {
  Daemon daemon;
  daemon.WriteTenant("a.toml", "name = \"first\"\ncgroup = \"/a\"\n");
  daemon.Start();
  const auto refused = [&](const std::string& arguments, int code) {
    const Output output = Operate(daemon, arguments);
    EXPECT_EQ(output.code, code) << arguments << output.err;
    return output.err;
  };
  EXPECT_THAT(refused("drain nobody", 1), HasSubstr("no tenant 'nobody', and no process; tenants "
                                                    "are first"));
  EXPECT_THAT(refused("drain /x", 1), HasSubstr("no tenant '/x'"));
  EXPECT_THAT(refused("drain 999999999", 1), HasSubstr("no process of that pid is connected"));
  EXPECT_THAT(refused("drain 99999999999999999999", 1), HasSubstr("no tenant"));
  EXPECT_THAT(refused("drain /a/../b", 1), HasSubstr("write the whole path"));
  EXPECT_THAT(refused("undrain", 1), HasSubstr("not everybody was drained"));
  EXPECT_THAT(refused("undrain first", 1), HasSubstr("'first' was not drained"));
  EXPECT_THAT(refused("undrain 1", 1), HasSubstr("'1' was not drained"));
  EXPECT_THAT(refused("drain ''", 2), HasSubstr("the name is empty"));
  EXPECT_THAT(daemon.Ask(R"({"verb":"drain","who":""})").at(0), HasSubstr("no name"));
  EXPECT_THAT(Operate(daemon, "status").out, testing::Not(HasSubstr("drain")));
}

}  // namespace
}  // namespace vramspan::broker_test
