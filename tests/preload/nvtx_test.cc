// The ranges that moves are for profilers (docs/top.md), counted by a small tool that NVTX loads.
#include <gmock/gmock.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "tests/preload/run_program.h"

namespace vramspan_test {
namespace {

using ::testing::AllOf;
using ::testing::Ge;
using ::testing::IsEmpty;
using ::testing::Key;
using ::testing::Le;
using ::testing::UnorderedElementsAre;

// How often the tool wrote each line.
std::map<std::string, int> RangesOf(const std::string& scenario) {
  std::string folder = ::testing::TempDir() + "/vramspan-nvtx-XXXXXX";
  if (mkdtemp(folder.data()) == nullptr) return {};
  const Output output =
      RunPreloaded("dlsym", scenario,
                   "NVTX_INJECTION64_PATH='" NVTX_TOOL "' NVTX_TOOL_FILE='" + folder + "/ranges'");
  EXPECT_EQ(output.code, 0) << output.err;
  std::map<std::string, int> lines;
  std::ifstream file(folder + "/ranges");
  for (std::string line; std::getline(file, line);) ++lines[line];
  std::filesystem::remove_all(folder);
  return lines;
}

TEST(NvtxRanges, AreOfEachMoveAndEachRemapAndEnd) {
  std::map<std::string, int> ranges = RangesOf("doubled");
  ASSERT_THAT(ranges,
              UnorderedElementsAre(Key("start fetch"), Key("start evict"), Key("end"),
                                   Key("push fetch: remap"), Key("push evict: remap"), Key("pop")));
  // The program ends while some are under way: so many at most, and one remap.
  constexpr int kUnderWay = 8;
  const int open = ranges["start fetch"] + ranges["start evict"] - ranges["end"];
  EXPECT_THAT(open, AllOf(Ge(0), Le(kUnderWay)));
  EXPECT_GT(ranges["end"], 10 * kUnderWay);
  const int pushed = ranges["push fetch: remap"] + ranges["push evict: remap"] - ranges["pop"];
  EXPECT_THAT(pushed, AllOf(Ge(0), Le(1)));
}

TEST(NvtxRanges, AreNoneWhileMemorySuffices) { EXPECT_THAT(RangesOf("within"), IsEmpty()); }

}  // namespace
}  // namespace vramspan_test
