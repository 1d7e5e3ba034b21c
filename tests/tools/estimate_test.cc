// `vramspan estimate` as a user runs it.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/tools/run_binary.h"

namespace vramspan {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;
using Json = nlohmann::json;

constexpr char kLoop[] = "--trace synthetic:loop,layers=64,passes=6,mib=256,us=5000 ";  // 16 GiB.

Output Estimate(const std::string& arguments, const std::string& environment = "") {
  // As a user's shell is: without what these tests are given.
  return RunBinary("-u VRAMSPAN_DRIVER -u VRAMSPAN_TRACER XDG_CACHE_HOME=/nowhere " + environment,
                   "estimate " + arguments);
}

// What is in a folder for temporary files, but for the links that all runs share where the tests
// stand below a folder with a space in its name.
std::vector<std::string> LeftIn(const std::string& folder) {
  std::vector<std::string> left;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename();
    if (name != "vramspan-" + std::to_string(getuid())) left.push_back(name);
  }
  return left;
}

// Slowdowns by where and device memory.
std::map<std::string, double> Slowdowns(const std::string& arguments) {
  const Output run = Estimate(arguments + " --format json");
  EXPECT_EQ(run.code, 0) << run.err;
  std::map<std::string, double> slowdowns;
  const Json json = Json::parse(run.out);
  for (const Json& row : json.at("estimates")) {
    std::string where = row.at("where");
    if (!row.at("percent_of_peak").is_null()) {
      where = std::to_string(row.at("percent_of_peak").get<int>()) + "%";
    }
    slowdowns[where] = row.at("slowdown");
  }
  return slowdowns;
}

TEST(Estimate, LessMemoryIsSlowerAndAllOfItIsNot) {
  const Output table = Estimate(kLoop);
  EXPECT_EQ(table.code, 0) << table.err;
  EXPECT_THAT(table.err, IsEmpty());
  EXPECT_THAT(table.out, AllOf(HasSubstr("at most 16.00 GiB at once, 5 rounds"),
                               HasSubstr("here            16.00 GiB (100 %)               -"),
                               HasSubstr("here            4.00 GiB (25 %)         12.00 GiB"),
                               HasSubstr("prices are an H100's")));
  const auto slowdowns = Slowdowns(kLoop);
  EXPECT_NEAR(slowdowns.at("100%"), 1, 0.01);
  EXPECT_GT(slowdowns.at("75%"), 1.01);
  EXPECT_GT(slowdowns.at("25%"), slowdowns.at("75%"));
}

TEST(Estimate, ACardsMemoryAndLinkCount) {
  const auto cards = Slowdowns(std::string(kLoop) + "--card rtx4060ti,rtx3060ti,rtx5090,h100");
  EXPECT_NEAR(cards.at("rtx5090"), 1, 0.01) << "all fits";
  EXPECT_NEAR(cards.at("h100"), 1, 0.01);
  EXPECT_GT(cards.at("rtx3060ti"), 1.5);
  EXPECT_GT(cards.at("rtx4060ti"), 1.3 * cards.at("rtx3060ti")) << "as much memory, half the link";
  const auto wide = Slowdowns(std::string(kLoop) + "--card rtx4060ti --link 25");
  EXPECT_NEAR(wide.at("rtx4060ti"), cards.at("rtx3060ti"), 0.05);
}

TEST(Estimate, TheTableOfCardsSaysWhereItsFiguresAreFrom) {
  const Output list = Estimate("--list-cards");
  EXPECT_EQ(list.code, 0) << list.err;
  EXPECT_THAT(list.out, AllOf(HasSubstr("rtx4060ti-16gb"), HasSubstr("PCIe 4 x8"),
                              HasSubstr("measured on an H100"), HasSubstr("half of PCIe 4 x16")));
  const auto all = Slowdowns(std::string(kLoop) + "--card all");
  EXPECT_EQ(all.size(), 4u + 13u);
}

TEST(Estimate, MistakesAreNamed) {
  const struct {
    const char* arguments;
    const char* words;
  } cases[] = {
      {"", "name a program, or a recording with --trace"},
      {"--trace synthetic:loop -- true", "--trace: a recording is taken instead of a program"},
      {"--trace synthetic:nonsense", "nonsense"},
      {"--trace synthetic:loop --card rtx9090",
       "there is no card 'rtx9090' here; use all, or a list"},
      {"--trace synthetic:loop --card ''", "there is no card ''"},
      {"--trace synthetic:loop --card rtx4090 --link x", "--link: 'x' is not a rate"},
      {"--trace synthetic:loop --card rtx4090 --link -1", "--link"},
      {"--trace synthetic:loop --card rtx4090 --link nan", "--link: 'nan' is not a rate"},
      {"--trace synthetic:loop --link 3", "--link: it is that of other cards"},
      {"--trace synthetic:loop --device-memory 0", "--device-memory"},
      {"--for 0 -- true", "--for"},
      {"--rounds -1 -- true", "--rounds"},
  };
  for (const auto& c : cases) {
    const Output run = Estimate(c.arguments);
    EXPECT_EQ(run.code, 2) << c.arguments << run.err;
    EXPECT_THAT(run.err, HasSubstr(c.words)) << c.arguments;
    EXPECT_THAT(run.out, IsEmpty()) << c.arguments;
  }
  EXPECT_EQ(Estimate("--trace /nowhere/x.vramspan").code, 1);
  EXPECT_EQ(Estimate("-- /nowhere/program").code, 127);
  EXPECT_EQ(Estimate("-- /etc/passwd").code, 126);
}

TEST(Estimate, AProgramThatDoesNothingOnTheGpuIsSaidSo) {
  const TemporaryFolder temporary;
  const Output run = Estimate("--simulate -- true", "TMPDIR='" + temporary.path() + "'");
  EXPECT_EQ(run.code, 1);
  EXPECT_THAT(run.err, HasSubstr("true did nothing on the GPU that vramspan could record"));
  EXPECT_THAT(LeftIn(temporary.path()), IsEmpty());
}

class EstimateProgram : public ::testing::Test {
 protected:
  // On a simulated device that holds all.
  Output Run(const std::string& options, const std::string& program) {
    return Estimate(options + " --simulate -- '" PROGRAM_PATH "' " + program,
                    "TMPDIR='" + temporary_.path() + "' SIMCUDA_DEVICE_MEMORY=256MiB");
  }

  // A file that is written by nobody while it runs.
  std::string Copy() const { return temporary_.path() + "/program"; }
  // That an estimate of the command has it and its copy of the program end.
  void ExpectEnded(const std::string& command) {
    std::filesystem::copy_file(PROGRAM_PATH, Copy());
    const Output run = Estimate("--rounds 5 --simulate -- " + command,
                                "TMPDIR='" + temporary_.path() + "' SIMCUDA_DEVICE_MEMORY=256MiB");
    EXPECT_EQ(run.code, 0) << run.err;
    EXPECT_THAT(run.out, ContainsRegex("at most 16 MiB at once, [0-9]+ rounds"));
    const int file = open(Copy().c_str(), O_WRONLY | O_CLOEXEC);
    EXPECT_GE(file, 0) << "it still runs: " << std::strerror(errno);
    if (file >= 0) close(file);
  }

  TemporaryFolder temporary_;
};

TEST_F(EstimateProgram, IsRunAndItsOutputStaysItsOwn) {
  const Output run = Run("--device-memory 100%,50% --format json", "dlsym within");
  ASSERT_EQ(run.code, 0) << run.err;
  ASSERT_THAT(run.out, StartsWith("ok\n{"));
  const Json json = Json::parse(run.out.substr(3));
  EXPECT_EQ(json.at("device"), "simcuda device 0");
  ASSERT_EQ(json.at("estimates").size(), 2u);
  EXPECT_NEAR(json.at("estimates")[0].at("slowdown"), 1, 0.2);
  EXPECT_GE(json.at("estimates")[1].at("slowdown"), json.at("estimates")[0].at("slowdown"));
  EXPECT_GT(json.at("estimates")[1].at("spills_bytes"), 0);
  EXPECT_THAT(LeftIn(temporary_.path()), IsEmpty()) << "the recording is gone";
}

TEST_F(EstimateProgram, MayBeInterrupted) {
  Output run;
  for (const char* seconds : {"1", "5", "20", "60"}) {
    run = Run(std::string("--for ") + seconds, "dlsym within_endless");
    if (run.code == 0) break;  // Else it had not yet done anything, on a busy machine.
  }
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(run.out, AllOf(HasSubstr(" recorded on simcuda device 0"), HasSubstr("slowdown")));
}

TEST_F(EstimateProgram, EndsOnceItDidEnoughRounds) {
  const Output run = Run("--rounds 5", "dlsym within_endless");
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(run.err, ContainsRegex("interrupted after [0-9]+ rounds; --rounds 0 lets it end"));
  EXPECT_THAT(run.out, ContainsRegex("at most 16 MiB at once, [0-9]+ rounds"));
}

TEST_F(EstimateProgram, EndsByItselfWhereItHasFewerRounds) {
  for (const char* rounds : {"0", "1000000"}) {
    const Output run = Run(std::string("--rounds ") + rounds, "dlsym within");
    EXPECT_EQ(run.code, 0) << run.err;
    EXPECT_THAT(run.err, IsEmpty());
    EXPECT_THAT(run.out, StartsWith("ok\n"));
  }
}

// A shell waits for what it started, and does not tell it.
TEST_F(EstimateProgram, EndsWithAllThatItStarted) {
  ExpectEnded("sh -c '\"" + Copy() + "\" dlsym within_endless; echo ended'");
}

// A launcher dies at once, and what it launched would go on.
TEST_F(EstimateProgram, LeavesNothingBehindThatRuns) {
  ExpectEnded("sh -c '(trap \"\" INT; exec \"" + Copy() + "\" dlsym within_endless) & wait'");
}

TEST_F(EstimateProgram, MemoryThatWasShortIsSaid) {
  const Output run = Run("", "dlsym doubled");
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(run.err, HasSubstr("memory was short while the program was recorded"));
}

}  // namespace
}  // namespace vramspan
