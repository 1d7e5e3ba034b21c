// Who gets how much, with the real daemon and real processes: 8 GiB to share, and 1 in reserve.
#include <gmock/gmock.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>

#include "tests/broker/server/program.h"

namespace vramspan::broker_test {
namespace {

constexpr Bytes kChunk = MiB(2);

bool About(Bytes a, Bytes b) { return a <= b + kChunk && b <= a + kChunk; }

TEST(Sharing, WhoIsAloneIsLentEverything) {
  Daemon daemon;
  daemon.Start();
  Program a(daemon, "/a");
  a.Hello(GiB(1), GiB(1));
  ASSERT_TRUE(Until({&a}, [&] { return a.grant() == kAll; }));
  EXPECT_EQ(a.heard().front().type, lease::Type::kWelcome);
  EXPECT_EQ(a.heard().front().device, kDevice);
  EXPECT_EQ(a.heard().front().bytes, Bytes(UINT64_MAX));
  EXPECT_GT(a.heard().front().time, Duration(0));
  ASSERT_TRUE(Until({&a}, [&] { return a.host() >= GiB(1); }));
  EXPECT_EQ(a.page().device, kAll);
  EXPECT_GT(a.page().revision, 0u);
}

TEST(Sharing, ANewcomerGetsHalf) {
  Daemon daemon;
  daemon.Start();
  Program a(daemon, "/a"), b(daemon, "/b");
  a.BeGreedy(kAll);
  ASSERT_TRUE(Until({&a}, [&] { return a.grant() == kAll; }));
  b.BeGreedy(kAll);
  ASSERT_TRUE(Until({&a, &b}, [&] { return About(a.grant(), GiB(4)) && About(b.grant(), GiB(4)); }))
      << a.grant().value << " " << b.grant().value;
  EXPECT_GT(a.Count(lease::Type::kRecall), 0);
  EXPECT_GT(a.Count(lease::Type::kTurn), 0);
}

TEST(Sharing, AGuaranteeIsMet) {
  Daemon daemon;
  daemon.WriteTenant("b.toml", "cgroup = \"/b\"\nguarantee = \"6GiB\"\n");
  daemon.Start();
  Program a(daemon, "/a"), b(daemon, "/b/inside");
  a.BeGreedy(kAll);
  ASSERT_TRUE(Until({&a}, [&] { return a.grant() == kAll; }));
  b.BeGreedy(kAll);
  ASSERT_TRUE(Until({&a, &b}, [&] { return About(b.grant(), GiB(6)); })) << b.grant().value;
}

TEST(Sharing, ProcessesOfATenantShareItsPart) {
  Daemon daemon;
  daemon.Start();
  Program a1(daemon, "/a"), a2(daemon, "/a/nested"), b(daemon, "/b");
  for (Program* const p : {&a1, &a2, &b}) {
    p->BeGreedy(kAll);
    ASSERT_TRUE(Until({p}, [&] { return p->welcomed(); }));
  }
  ASSERT_TRUE(Until({&a1, &a2, &b},
                    [&] {
                      return About(b.grant(), GiB(4)) && About(a1.grant(), GiB(2)) &&
                             About(a2.grant(), GiB(2));
                    }))
      << a1.grant().value << " " << a2.grant().value << " " << b.grant().value;
}

// Whether memory is there before the dead would be forgotten, after 2 s. A machine may be slow, so
// ten tries have to be late.
bool IsSoon(const std::function<std::chrono::steady_clock::duration()>& takes) {
  for (int i = 0; i < 10; ++i) {
    if (takes() < std::chrono::milliseconds(1900)) return true;
  }
  return false;
}

TEST(Sharing, TheKilledLeaveTheirMemory) {
  Daemon daemon;
  daemon.Start();
  EXPECT_TRUE(IsSoon([&] {
    Program a(daemon, "/a"), b(daemon, "/b");
    a.BeGreedy(kAll);
    EXPECT_TRUE(Until({&a}, [&] { return a.grant() == kAll; }));
    b.BeGreedy(kAll);
    EXPECT_TRUE(Until({&a, &b}, [&] { return About(b.grant(), GiB(4)); }));
    const auto before = std::chrono::steady_clock::now();
    a.Kill();
    EXPECT_TRUE(Until({&b}, [&] { return b.grant() == kAll; })) << b.grant().value;
    return std::chrono::steady_clock::now() - before;
  }));
}

TEST(Sharing, WhoSaysByeLeavesItsMemory) {
  Daemon daemon;
  daemon.Start();
  EXPECT_TRUE(IsSoon([&] {
    Program a(daemon, "/a"), b(daemon, "/b");
    a.BeGreedy(kAll);
    EXPECT_TRUE(Until({&a}, [&] { return a.grant() == kAll; }));
    b.Hello(kAll);
    a.set_answers(false);
    const auto before = std::chrono::steady_clock::now();
    a.Send({.type = lease::Type::kBye});
    EXPECT_TRUE(Until({&a, &b}, [&] { return b.grant() == kAll && a.ended(); }));
    return std::chrono::steady_clock::now() - before;
  }));
}

TEST(Sharing, TheStoppedHoldNobodyUp) {
  Daemon daemon;
  daemon.Start();
  Program a(daemon, "/a"), b(daemon, "/b"), c(daemon, "/c");
  a.BeGreedy(kAll);
  b.BeGreedy(kAll);
  ASSERT_TRUE(
      Until({&a, &b}, [&] { return About(a.grant(), GiB(4)) && About(b.grant(), GiB(4)); }));
  a.Signal(SIGSTOP);
  const auto state_of_a = [&] {
    for (const std::string& line : daemon.Ask(R"({"verb":"status"})")) {
      const auto object = nlohmann::json::parse(line);
      if (object.value("pid", 0) == a.pid()) return object.value("state", "");
    }
    return std::string();
  };
  ASSERT_TRUE(Until({&b}, [&] { return state_of_a() == "stuck"; }));
  c.BeGreedy(kAll);
  ASSERT_TRUE(Until({&b, &c}, [&] { return About(b.grant(), GiB(2)) && About(c.grant(), GiB(2)); }))
      << b.grant().value << " " << c.grant().value;
  a.Signal(SIGCONT);
  const Bytes third(kAll.value / 3);
  EXPECT_TRUE(Until({&a, &b, &c}, [&] {
    return About(a.grant(), third) && About(b.grant(), third) && About(c.grant(), third);
  })) << a.grant().value;
}

TEST(Sharing, RoomIsGivenAndTakenBack) {
  Daemon daemon;
  daemon.Start();
  Program a(daemon, "/a"), b(daemon, "/b");
  a.BeGreedy(kAll);
  b.Hello(GiB(1));
  ASSERT_TRUE(Until({&a, &b}, [&] { return b.grant() >= GiB(1); }));
  b.Send({.type = lease::Type::kRoom, .bytes = MiB(512)});
  ASSERT_TRUE(Until({&a, &b}, [&] { return b.Count(lease::Type::kRoomGiven) == 1; }));
  b.Send({.type = lease::Type::kRoom, .bytes = GiB(5)});
  ASSERT_TRUE(Until({&a, &b}, [&] { return b.Count(lease::Type::kRefuse) == 1; }));
  EXPECT_EQ(b.heard().back().code, static_cast<uint8_t>(lease::RefuseCode::kShare));
  b.Send({.type = lease::Type::kRoomBack, .bytes = MiB(512)});
  EXPECT_TRUE(Until({&a, &b}, [&] { return a.grant() + b.grant() == kAll; }));
}

TEST(Sharing, DevicesHaveStatesOfTheirOwn) {
  Daemon daemon;
  daemon.Start();
  Program a(daemon, "/a"), b(daemon, "/b");
  a.BeGreedy(kAll);
  b.Send({.type = lease::Type::kHello, .bytes = kAll, .device = {2}});
  EXPECT_TRUE(Until({&a, &b}, [&] { return a.grant() == kAll && b.grant() == kAll; }));
}

TEST(Sharing, TwoHundredProcesses) {
  Daemon daemon;
  daemon.Start({.capacity = "device=81GiB,host=200GiB"});
  std::vector<std::unique_ptr<Program>> programs;
  std::vector<Program*> all;
  for (int i = 0; i < 200; ++i) {
    programs.push_back(std::make_unique<Program>(daemon, "/t" + std::to_string(i % 20)));
    all.push_back(programs.back().get());
    all.back()->BeGreedy(GiB(4));
  }
  const auto sum = [&] {
    Bytes bytes;
    for (const Program* const p : all) bytes += p->grant();
    return bytes;
  };
  // 79.4 GiB for 200: 0.39 GiB each.
  ASSERT_TRUE(Until(all, [&] {
    return std::all_of(all.begin(), all.end(),
                       [](const Program* p) { return p->grant() > MiB(390); });
  })) << sum().value;
  EXPECT_LE(sum(), GiB(80));
}

}  // namespace
}  // namespace vramspan::broker_test
