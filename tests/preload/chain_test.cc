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

// Another preload that wraps the same functions sees the calls, wherever it stands, and so do we.
class ChainTest : public ::testing::TestWithParam<const char*> {};

TEST_P(ChainTest, BothSeeWhatTheLoaderBinds) {
  const std::string other = GetParam();
  const Output alone = RunWith(other, "linked", "within");
  ExpectOk(alone);
  ASSERT_THAT(alone.err, HasSubstr("other: 4 allocations"));
  for (const std::string& order : {"vramspan:" + other, other + ":vramspan"}) {
    const Output both = RunWith(order, "linked", "doubled", "VRAMSPAN_STATS=-");
    ExpectOk(both);
    EXPECT_THAT(both.err, HasSubstr("72 launches")) << order;
    // In front of us it sees the program's calls; behind us what we ask of the driver past it.
    const bool first = order.starts_with(other);
    EXPECT_THAT(both.err, HasSubstr(first ? "other: 24 allocations" : "other: 0 allocations"))
        << order;
    EXPECT_THAT(both.err, HasSubstr("other: 72 launches")) << order;
  }
}

TEST_P(ChainTest, NothingBreaksForWhatIsLookedUp) {
  const std::string other = GetParam();
  for (const char* route : {"dlsym", "proc1", "proc2_pt"}) {
    for (const std::string& order : {"vramspan:" + other, other + ":vramspan"}) {
      const Output both = RunWith(order, route, "doubled", "VRAMSPAN_STATS=-");
      ExpectOk(both);
      EXPECT_THAT(both.err, HasSubstr("72 launches (0 named no memory of ours)")) << order;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Others, ChainTest,
                         ::testing::Values(OTHER_PRELOAD_BOUND, OTHER_PRELOAD_DLSYM));

}  // namespace
}  // namespace vramspan_test
