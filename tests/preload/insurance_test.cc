// What a user is told of memory that is short: nothing as long as it suffices, one line when it
// does no more, and one at the end.
#include <gmock/gmock.h>
#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "tests/preload/run_program.h"

namespace vramspan_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

std::ptrdiff_t Lines(const std::string& text) { return std::count(text.begin(), text.end(), '\n'); }

TEST(Insurance, NothingIsSaidWhileMemorySuffices) {
  const Output within = RunPreloaded("dlsym", "within");
  EXPECT_EQ(within.code, 0);
  EXPECT_THAT(within.err, IsEmpty());
}

TEST(Insurance, ALineSaysWhatSpillsWhatItCostsAndWhatHelps) {
  const Output output = RunPreloaded("dlsym", "doubled", "XDG_CACHE_HOME=/nowhere");
  EXPECT_EQ(output.code, 0) << output.err;
  EXPECT_THAT(
      output.err,
      AllOf(StartsWith("vramspan: device memory is short (budget 28 MiB): "),
            HasSubstr(" MiB live in host memory so far, and move as they are used; each GiB "
                      "takes about 29 ms to come while as much leaves (an H100's figure"),
            HasSubstr("; a smaller batch avoids that"),
            HasSubstr("\nvramspan: device memory first ran short ")));
  EXPECT_EQ(Lines(output.err), 2) << output.err;
  EXPECT_THAT(output.err, Not(HasSubstr(": 0 MiB live in host memory")));
}

TEST(Insurance, AProgramThatTakesItsMemoryByVmmIsTold) {
  const Output output = RunPreloaded("proc2_pt", "expandable");
  EXPECT_EQ(output.code, 0) << output.err;
  EXPECT_THAT(output.err, HasSubstr(" MiB live in host memory so far, and move"));
}

TEST(Insurance, FiguresOfThisDeviceAreTaken) {
  std::string cache = ::testing::TempDir() + "/vramspan-insurance-XXXXXX";
  ASSERT_NE(mkdtemp(cache.data()), nullptr);
  std::filesystem::create_directories(cache + "/vramspan");
  std::ofstream(cache + "/vramspan/GPU-73696d63-7564-612d-6465-766963652d00.prices")
      << "vramspan-prices 1\ndriver 13000\nserve_gb_per_s 12.000\nmove_gb_per_s 10.000\n";
  const Output output = RunPreloaded("dlsym", "doubled", "XDG_CACHE_HOME='" + cache + "'");
  EXPECT_EQ(output.code, 0) << output.err;
  EXPECT_THAT(output.err, HasSubstr("each GiB takes about 107 ms to come while as much leaves "
                                    "(measured here)"));
  std::filesystem::remove_all(cache);
}

TEST(Insurance, ABudgetThatLeavesMemoryUnusedIsNamed) {
  const Output output =
      RunPreloaded("dlsym", "doubled", "SIMCUDA_DEVICE_MEMORY=256MiB VRAMSPAN_DEVICE_MEMORY=64MiB");
  EXPECT_EQ(output.code, 0) << output.err;
  EXPECT_THAT(output.err, HasSubstr("a larger device budget (--device-memory) avoids that: "));
}

TEST(Insurance, QuietLeavesRefusalsAlone) {
  const Output quiet = RunPreloaded("dlsym", "doubled", "VRAMSPAN_QUIET=1");
  EXPECT_EQ(quiet.code, 0);
  EXPECT_THAT(quiet.err, IsEmpty());
  const Output refused =
      RunPreloaded("dlsym", "doubled", "VRAMSPAN_QUIET=1 VRAMSPAN_HOST_MEMORY=4MiB");
  EXPECT_EQ(refused.code, 1);
  EXPECT_THAT(refused.err, StartsWith("vramspan: the program is out of memory: "));
}

}  // namespace
}  // namespace vramspan_test
