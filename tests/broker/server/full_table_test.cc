// The daemon with no descriptors left. UBSan needs some to look at an object: without any it takes
// good ones for bad.
#include <gmock/gmock.h>

#include <algorithm>
#include <chrono>

#include "tests/broker/server/program.h"

namespace vramspan::broker_test {
namespace {

using lease::Type;

// A process has two descriptors there: the last may be the connection's or the process's own.
class FullTable : public testing::TestWithParam<uint64_t> {};
INSTANTIATE_TEST_SUITE_P(Hostile, FullTable, testing::Values(40, 41));

TEST_P(FullTable, TurnsAwayNewcomersOnly) {
  Daemon daemon;
  daemon.Start({.descriptors = GetParam()});
  Program first(daemon, "/first");
  first.Hello(MiB(2));
  ASSERT_TRUE(Until({&first}, [&] { return first.grant() >= MiB(2); }));
  {
    std::vector<std::unique_ptr<Program>> programs;
    for (int i = 0; i < 40; ++i) {
      programs.push_back(std::make_unique<Program>(daemon, "/t" + std::to_string(i)));
    }
    std::vector<Program*> all;
    for (const auto& program : programs) all.push_back(program.get());
    ASSERT_TRUE(Until(all, [&] {
      return std::any_of(all.begin(), all.end(), [](const Program* p) { return p->ended(); });
    }));
    // An operator finds out at once, and the daemon does not turn round and round for it.
    const double before = daemon.CpuSeconds();
    daemon.Ask(R"({"verb":"status"})");
    first.Send({.type = Type::kRoom, .bytes = GiB(3)});
    EXPECT_TRUE(Until({&first}, [&] { return first.Count(Type::kRefuse) == 1; }));
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(1);
    ASSERT_TRUE(Until({&first}, [&] { return std::chrono::steady_clock::now() > end; }));
    EXPECT_LT(daemon.CpuSeconds() - before, 0.3);
  }
  EXPECT_TRUE(Until({&first}, [&] { return Serves(daemon, "/later"); }));
}

}  // namespace
}  // namespace vramspan::broker_test
