// Beside another preload.
#include <gmock/gmock.h>

#include "tests/preload/run_program.h"

namespace vramspan_test {
namespace {

using ::testing::HasSubstr;

void ExpectOk(const Output& output) {
  EXPECT_EQ(output.code, 0) << output.err;
  EXPECT_EQ(output.out, "ok\n") << output.err;
}

std::vector<std::vector<std::string>> Orders(const std::string& other) {
  return {{kPreload, other}, {other, kPreload}};
}

// Another preload that wraps the same functions sees the calls, wherever it stands, and so do we.
class ChainTest : public ::testing::TestWithParam<const char*> {};

TEST_P(ChainTest, BothSeeWhatTheLoaderBinds) {
  const std::string other = GetParam();
  const Output alone = RunWith({other}, "linked", "within");
  ExpectOk(alone);
  ASSERT_THAT(alone.err, HasSubstr("other: 4 allocations"));
  for (const std::vector<std::string>& order : Orders(other)) {
    const Output both = RunWith(order, "linked", "doubled", "VRAMSPAN_STATS=-");
    ExpectOk(both);
    EXPECT_THAT(both.err, HasSubstr("72 launches")) << order.front();
    // In front of us it sees the program's calls; behind us what we ask of the driver past it.
    const bool first = order.front() == other;
    EXPECT_THAT(both.err, HasSubstr(first ? "other: 24 allocations" : "other: 0 allocations"))
        << order.front();
    EXPECT_THAT(both.err, HasSubstr("other: 72 launches")) << order.front();
  }
}

TEST_P(ChainTest, NothingBreaksForWhatIsLookedUp) {
  const std::string other = GetParam();
  for (const char* route : {"dlsym", "proc1", "proc2_pt"}) {
    for (const std::vector<std::string>& order : Orders(other)) {
      const Output both = RunWith(order, route, "doubled", "VRAMSPAN_STATS=-");
      ExpectOk(both);
      EXPECT_THAT(both.err, HasSubstr("72 launches (0 named no memory of vramspan)"))
          << order.front();
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Others, ChainTest,
                         ::testing::Values(OTHER_PRELOAD_BOUND, OTHER_PRELOAD_DLSYM));

}  // namespace
}  // namespace vramspan_test
