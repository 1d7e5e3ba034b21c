// Graphs that do not fit, launched in segments.
#include <gmock/gmock.h>

#include <regex>

#include "tests/preload/run_program.h"

namespace vramspan_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class LargeGraphs : public testing::TestWithParam<const char*> {
 protected:
  static Output Run(const std::string& graphs, const std::string& scenario = "graphs") {
    Output output = RunPreloaded("dlsym", scenario,
                                 "VRAMSPAN_STATS=- VRAMSPAN_LOG=info VRAMSPAN_GRAPHS=" + graphs +
                                     " VRAMSPAN_OVERLAP=" + GetParam());
    EXPECT_EQ(output.code, 0) << output.err;
    EXPECT_THAT(output.out, HasSubstr("ok\n")) << output.err;
    return output;
  }
};
INSTANTIATE_TEST_SUITE_P(Overlap, LargeGraphs, testing::Values("off", "safe", "all", "auto"),
                         [](const auto& each) { return std::string(each.param); });

TEST_P(LargeGraphs, AreRightInSegments) {
  const Output plain = RunPlain("dlsym", "graphs", "SIMCUDA_DEVICE_MEMORY=256MiB");
  EXPECT_EQ(plain.code, 0) << plain.err;
  const Output cut = Run("cut");
  EXPECT_EQ(cut.out, plain.out);
  // All but the first of each graph, and those behind what keeps one whole: 4 + 14, 1 + 9, 1, 2.
  std::smatch found;
  ASSERT_TRUE(std::regex_search(cut.err, found, std::regex("(\\d+) graphs in (\\d+) segments")))
      << cut.err;
  EXPECT_EQ(found[1], "31");
  EXPECT_GE(std::stoi(found[2]), 31 * 4);
  EXPECT_THAT(cut.err, Not(HasSubstr("cannot be cut")));
}

// What was launched before is no segment's, and yet before it.
TEST_P(LargeGraphs, WaitForWhatWasLaunchedWhole) {
  for (int i = 0; i < 3; ++i) {
    EXPECT_THAT(Run("cut", "graphs_short").err, HasSubstr(" graphs in "));
  }
}

TEST_P(LargeGraphs, EndWithTheirContext) { Run("cut", "graphs_contexts"); }

// Both ways are tried, so that launches of both follow each other.
TEST_P(LargeGraphs, AreRightWhicheverIsFaster) {
  const Output plain = RunPlain("dlsym", "graphs_often", "SIMCUDA_DEVICE_MEMORY=256MiB");
  const Output chosen = Run("auto", "graphs_often");
  EXPECT_EQ(chosen.out, plain.out);
  // Seven launches whole, before the first that is not.
  std::smatch found;
  ASSERT_TRUE(std::regex_search(chosen.err, found, std::regex("(\\d+) graphs in"))) << chosen.err;
  EXPECT_LE(std::stoi(found[1]), 40 - 7);
  Run("auto", "graphs_short");
  Run("auto", "graphs_contexts");
}

TEST_P(LargeGraphs, AreRightWhole) { EXPECT_THAT(Run("whole").err, Not(HasSubstr("segments"))); }

}  // namespace
}  // namespace vramspan_test
