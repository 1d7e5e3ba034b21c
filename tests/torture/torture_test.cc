// The torture program of torture.h, at sizes for CI; on a machine that is ten times slower than
// others fewer operations. VRAMSPAN_TORTURE=long gives each run its full time (--all and
// --nightly of tools/test.sh), VRAMSPAN_TORTURE_SECONDS makes the long run last that long whatever
// it does (on a GPU, say), VRAMSPAN_TORTURE_SEED starts it elsewhere.
#include "tests/torture/torture.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <tuple>

#include "include/vramspan/vramspan.h"

namespace vramspan_test {
namespace {

#if defined(__SANITIZE_THREAD__)
constexpr uint64_t kShare = 40;
#elif defined(__SANITIZE_ADDRESS__)
constexpr uint64_t kShare = 10;
#else
constexpr uint64_t kShare = 1;
#endif

// At most, in seconds. A build that is that much slower is as thorough in as much more time.
bool Long() {
  const char* const text = std::getenv("VRAMSPAN_TORTURE");
  return kShare > 1 || (text != nullptr && std::string_view(text) == "long");
}
double LongRun() { return Long() ? 150 : 10; }
double ShortRun() { return Long() ? 15 : 2; }

void Expect(const TortureOptions& options) {
  const TortureResult r = RunTorture(options);
  EXPECT_EQ(r.failure, "");
  std::printf(
      "seed %llu: %llu operations, %llu cells checked, %llu works (%llu held), %llu fetches, %llu "
      "evictions, %llu deadlines\n",
      static_cast<unsigned long long>(options.seed), static_cast<unsigned long long>(r.operations),
      static_cast<unsigned long long>(r.checked_cells), static_cast<unsigned long long>(r.works),
      static_cast<unsigned long long>(r.works_held), static_cast<unsigned long long>(r.fetches),
      static_cast<unsigned long long>(r.evictions), static_cast<unsigned long long>(r.deadlines));
  // A run in which nothing moved has tested nothing.
  EXPECT_GT(r.fetches, 0u);
  EXPECT_GT(r.evictions, 0u);
}

uint64_t Seed(uint64_t fallback) {
  const char* text = std::getenv("VRAMSPAN_TORTURE_SEED");
  return text != nullptr ? std::strtoull(text, nullptr, 10) : fallback;
}

TEST(Torture, FourThreads) {
  TortureOptions options;
  options.seed = Seed(1);
  options.operations = 1000000 / kShare;
  options.seconds = LongRun();
  if (const char* seconds = std::getenv("VRAMSPAN_TORTURE_SECONDS")) {
    options.operations = 0;
    options.seconds = std::atof(seconds);
  }
  Expect(options);
}

TEST(Torture, Captures) {
  TortureOptions options;
  options.seed = Seed(6);
  options.operations = 40000 / kShare;
  options.seconds = ShortRun();
  options.capture = true;
  Expect(options);
}

TEST(Torture, OneThreadSmallBudget) {
  TortureOptions options;
  options.seed = Seed(2);
  options.threads = 1;
  options.operations = 50000 / kShare;
  options.seconds = ShortRun();
  options.device_memory = "12MiB";
  options.data_bytes = uint64_t{48} << 20;
  Expect(options);
}

TEST(Torture, SharedContext) {
  TortureOptions options;
  options.seed = Seed(3);
  options.operations = 40000 / kShare;
  options.seconds = ShortRun();
  options.flags = VRAMSPAN_CONFIG_SHARE_CONTEXT;
  Expect(options);
}

// Nothing declared: what the launch tracer infers is all that the runtime knows.
class TortureTraced : public testing::TestWithParam<std::tuple<const char*, bool>> {};

TEST_P(TortureTraced, Runs) {
  TortureOptions options;
  options.seed = Seed(5);
  options.operations = 60000 / kShare;
  options.seconds = ShortRun();
  if (const char* seconds = std::getenv("VRAMSPAN_TORTURE_SECONDS")) {
    options.operations = 0;
    options.seconds = std::atof(seconds);
  }
  options.traced = std::get<0>(GetParam());
  options.capture = std::get<1>(GetParam());
  Expect(options);
}

INSTANTIATE_TEST_SUITE_P(Overlap, TortureTraced,
                         testing::Combine(testing::Values("off", "safe"), testing::Bool()),
                         [](const auto& each) {
                           return std::string(std::get<0>(each.param)) +
                                  (std::get<1>(each.param) ? "_captures" : "");
                         });

class TorturePolicy : public testing::TestWithParam<const char*> {};

TEST_P(TorturePolicy, Runs) {
  TortureOptions options;
  options.seed = Seed(4);
  options.operations = 30000 / std::min<uint64_t>(kShare, 6);
  options.seconds = ShortRun();
  options.policy = GetParam();
  Expect(options);
}

INSTANTIATE_TEST_SUITE_P(Policies, TorturePolicy,
                         testing::Values("random", "fifo", "lru", "clock", "lfu", "sieve", "s3fifo",
                                         "arc", "cycle", "cost"),
                         [](const auto& each) { return std::string(each.param); });

}  // namespace
}  // namespace vramspan_test
