// What a user is told of memory that is short: nothing as long as it suffices, one line when it
// does no more, and one at the end.
#include <gmock/gmock.h>
#include <stdlib.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <thread>

#include "tests/preload/run_program.h"
#include "tests/preload/told_program.h"

namespace vramspan_test {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
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

// Programs that allocate 4 MiB at a time, as they are told. With 256 MiB a line is worth 16 MiB, or
// a second.
class InsuranceOfSteps : public ::testing::Test {
 protected:
  using Clock = std::chrono::steady_clock;

  InsuranceOfSteps() {
    if (mkdtemp(folder_.data()) == nullptr) abort();
    began_ = Clock::now();
    program_ = std::make_unique<ToldProgram>(
        folder_, std::map<std::string, std::string>{{"SIMCUDA_DEVICE_MEMORY", "320MiB"},
                                                    {"VRAMSPAN_DEVICE_MEMORY", "256MiB"},
                                                    {"VRAMSPAN_BROKER", "off"}});
    EXPECT_EQ(program_->Line(), "ready") << program_->err();
  }
  ~InsuranceOfSteps() override {
    program_.reset();
    std::filesystem::remove_all(folder_);
  }
  // A machine that is so slow has it said for its time.
  bool Slow() const { return Clock::now() - began_ >= std::chrono::seconds(1); }

  std::string folder_ = ::testing::TempDir() + "/vramspan-insurance-XXXXXX";
  Clock::time_point began_;
  std::unique_ptr<ToldProgram> program_;
};

TEST_F(InsuranceOfSteps, TheLineWaitsUntilItIsMoreThanTheFirstChunk) {
  EXPECT_EQ(program_->Do("alloc 80"), "done");
  const bool slow = Slow();
  const std::string said = program_->err();
  EXPECT_THAT(said, StartsWith("vramspan: device memory is short (budget 256 MiB): "));
  EXPECT_EQ(Lines(said), 1) << said;
  const size_t live = said.find(" MiB live in host memory so far");
  ASSERT_NE(live, std::string::npos) << said;
  const int mib = std::stoi(said.substr(said.rfind(' ', live - 1)));
  EXPECT_GE(mib, slow ? 1 : 16) << said;
  EXPECT_LE(mib, 64) << said;
}

TEST_F(InsuranceOfSteps, TheLineComesWithinASecondOfLittle) {
  EXPECT_EQ(program_->Do("alloc 65"), "done");
  while (program_->err().empty() && Clock::now() - began_ < std::chrono::seconds(60)) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_TRUE(Slow()) << "before that it says little";
  EXPECT_THAT(program_->err(), StartsWith("vramspan: device memory is short (budget 256 MiB): "));
}

TEST_F(InsuranceOfSteps, TheLineComesAtTheEndOfWhatEndsSooner) {
  EXPECT_EQ(program_->Do("alloc 65"), "done");
  EXPECT_EQ(program_->Do("free"), "done");
  EXPECT_EQ(program_->End(), 0);
  const bool slow = Slow();
  const std::string said = program_->err();
  EXPECT_TRUE(slow ||
              said.starts_with("vramspan: device memory was short (budget 256 MiB): up to "))
      << said;
  EXPECT_THAT(said, HasSubstr("\nvramspan: device memory first ran short "));
  EXPECT_THAT(said, ContainsRegex("; at most [0-9.]+ MiB lay in host memory\n$"));
  EXPECT_EQ(Lines(said), 2) << said;
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
