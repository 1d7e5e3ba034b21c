// Programs that know nothing of vramspan, with the preload in them.
#include <gmock/gmock.h>
#include <stdlib.h>

#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>

#include "tests/preload/run_program.h"

namespace vramspan_test {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

constexpr char kShort[] = "vramspan: device memory is short";

void ExpectOk(const Output& output) {
  EXPECT_EQ(output.code, 0) << output.err;
  EXPECT_EQ(output.out, "ok\n") << output.err;
}

class RouteTest : public ::testing::TestWithParam<const char*> {};

TEST_P(RouteTest, TwiceTheDevicesMemory) {
  const Output without = RunPlain(GetParam(), "doubled");
  EXPECT_EQ(without.code, 1);
  EXPECT_THAT(without.err, HasSubstr("MemAlloc(&b, bytes) is 2")) << "out of memory";
  const Output output = RunPreloaded(GetParam(), "doubled", "VRAMSPAN_STATS=-");
  ExpectOk(output);
  EXPECT_THAT(output.err, StartsWith(kShort));
  EXPECT_THAT(output.err, HasSubstr("vramspan: device memory first ran short "));
  // Launches are seen whichever way they come: 24 buffers, filled once and added to twice.
  EXPECT_THAT(output.err, HasSubstr("72 launches (0 named no memory of vramspan), 24 copies"));
}

TEST_P(RouteTest, CallsBeforeInitGetTheDriversErrors) {
  ExpectOk(RunPreloaded(GetParam(), "before_init"));
}

INSTANTIATE_TEST_SUITE_P(Routes, RouteTest,
                         ::testing::Values("linked", "linked_pt", "default", "default_pt", "dlsym",
                                           "dlsym_pt", "proc1", "proc1_pt", "proc2", "proc2_pt"),
                         [](const auto& test) { return std::string(test.param); });

TEST(Preload, HooksAllOfTheTableAndNothingElse) {
  ExpectOk(RunPreloaded("dlsym", "table"));
  ExpectOk(RunPreloaded("linked", "table"));
}

TEST(Preload, WhatTheDriverLacksIsNotThere) {
  ExpectOk(RunPreloaded("dlsym", "table_of_old_driver", "LD_LIBRARY_PATH='" OLD_DRIVER_FOLDER "'"));
}

// Results, out-parameters, pitches and alignments.
TEST(Preload, AnswersAsTheDriverDoes) {
  const Output without = RunPlain("proc2", "answers");
  const Output with = RunPreloaded("proc2", "answers", "VRAMSPAN_HOST_MEMORY=16MiB");
  EXPECT_EQ(without.code, 0) << without.err;
  EXPECT_EQ(with.code, 0) << with.err;
  EXPECT_THAT(without.out, HasSubstr("alloc 257: 0 aligned"));
  EXPECT_EQ(with.out, without.out);
}

TEST(Preload, AnAllocationThatFailsWritesNothing) {
  EXPECT_EQ(RunPlain("proc2", "untouched").code, 1);
  ExpectOk(RunPreloaded("proc2", "untouched"));
}

// Three fail there.
TEST(Preload, SaysOnceWhyThereIsNoMemory) {
  const auto lines = [](const std::string& text, const char* with) {
    int count = 0;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) {
      count += static_cast<int>(line.find(with) != std::string::npos);
    }
    return count;
  };
  const char* const why = " bytes: the address arena has ";
  const Output once = RunPreloaded("proc2", "untouched");
  EXPECT_EQ(lines(once.err, "vramspan: the program is out of memory: "), 1) << once.err;
  EXPECT_EQ(lines(once.err, why), 1) << once.err;
  const Output each = RunPreloaded("proc2", "untouched", "VRAMSPAN_LOG=info");
  EXPECT_EQ(lines(each.err, why), 3) << each.err;
  EXPECT_EQ(lines(RunPreloaded("proc2", "untouched", "VRAMSPAN_LOG=error").err, why), 1);
  EXPECT_EQ(lines(RunPreloaded("proc2", "untouched", "VRAMSPAN_LOG=off").err, why), 0);
}

TEST(Preload, AFreeWaitsForTheContextsWork) {
  ExpectOk(RunPreloaded("dlsym", "free_waits"));
  ExpectOk(RunPreloaded("linked_pt", "free_waits"));
}

TEST(Preload, AChildOfForkMayUseCudaItselfOrEndInPeace) {
  const Output before = RunPreloaded("dlsym", "fork_before", "VRAMSPAN_STATS=-");
  ExpectOk(before);
  EXPECT_THAT(before.err, AllOf(HasSubstr(kShort), HasSubstr("vramspan: process")));
  for (const char* scenario : {"fork_after", "fork_after_exit"}) {
    const Output after = RunPreloaded("proc2", scenario, "VRAMSPAN_STATS=-");
    ExpectOk(after);
    const size_t first = after.err.find("vramspan: process");
    EXPECT_NE(first, std::string::npos);
    EXPECT_EQ(after.err.find("vramspan: process", first + 1), std::string::npos)
        << "the child has nothing to tell: " << after.err;
  }
}

// Nor has it a thread of vramspan's, or one of its locks to wait for.
TEST(Preload, ChildrenOfForkEndBesideThreadsThatLaunch) {
  const std::string folder =
      (std::filesystem::temp_directory_path() / "vramspan-ends-XXXXXX").string();
  std::string made = folder;
  ASSERT_NE(mkdtemp(made.data()), nullptr);
  ExpectOk(RunPreloaded("proc2", "children"));
  ExpectOk(RunPreloaded("linked", "children", "VRAMSPAN_RECORD='" + made + "/t'"));
  ExpectOk(
      RunPreloaded("dlsym", "children", "VRAMSPAN_TRACER=cupti VRAMSPAN_RECORD='" + made + "/t'"));
  std::filesystem::remove_all(made);
}

TEST(Preload, AThreadMayBeCancelledInACall) {
  for (const char* overlap : {"off", "safe", "all"}) {
    for (const char* tracer : {"hooks", "cupti"}) {
      ExpectOk(
          RunPreloaded("proc2", "cancelled",
                       "VRAMSPAN_OVERLAP=" + std::string(overlap) + " VRAMSPAN_TRACER=" + tracer));
    }
  }
  ExpectOk(RunPreloaded("linked_pt", "cancelled", "VRAMSPAN_DEVICE_MEMORY=12MiB"));
}

TEST(Preload, TheProgramSaysWhatItWants) {
  for (const char* overlap : {"off", "safe"}) {
    ExpectOk(RunPreloaded("linked", "process", "VRAMSPAN_OVERLAP=" + std::string(overlap)));
  }
}

TEST(Preload, WhatIsExecutedHasItToo) { ExpectOk(RunPreloaded("linked", "exec")); }

TEST(Preload, AProgramMayEndInTheMiddleOfItsWork) {
  for (const char* route : {"linked", "dlsym", "proc2"}) {
    const Output output = RunPreloaded(route, "exit_busy", "VRAMSPAN_STATS=-");
    ExpectOk(output);
    EXPECT_THAT(output.err, HasSubstr("vramspan: process"));
  }
}

// What is in the folders where programs leave things.
std::set<std::string> Files(const std::string& folder) {
  std::set<std::string> files;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    files.insert(entry.path());
  }
  return files;
}

// Processes whose environment says `token`.
int ProcessesWith(const std::string& token) {
  int count = 0;
  for (const std::string& process : Files("/proc")) {
    std::ifstream file(process + "/environ", std::ios::binary);
    const std::string text((std::istreambuf_iterator<char>(file)),
                           std::istreambuf_iterator<char>());
    count += text.find(token) != std::string::npos ? 1 : 0;
  }
  return count;
}

// The driver takes back the memory of a process that is gone; nothing else may stay.
TEST(Preload, AProgramThatDiesLeavesNothingBehind) {
  std::string home = (std::filesystem::temp_directory_path() / "vramspan-dies-XXXXXX").string();
  ASSERT_NE(mkdtemp(home.data()), nullptr);
  const std::string token = "VRAMSPAN_TEST_TOKEN=" + home;
  std::string run = home + "-run-XXXXXX";
  ASSERT_NE(mkdtemp(run.data()), nullptr);
  // A live record stays until the next look (docs/top.md).
  const std::string places = token + " HOME=" + home + " TMPDIR=" + home +
                             " XDG_CACHE_HOME=" + home + " XDG_RUNTIME_DIR=" + run;
  const std::set<std::string> shared = Files("/dev/shm");
  for (const auto& [scenario, signal] :
       {std::pair("dies_killed", SIGKILL), {"dies_aborted", SIGABRT}, {"dies_trapped", SIGTRAP}}) {
    const Output output = RunPreloaded("default", scenario, places);
    EXPECT_EQ(output.code, 128 + signal) << scenario << output.err;
    EXPECT_EQ(ProcessesWith(token), 0) << scenario;
    EXPECT_THAT(Files(home), IsEmpty()) << scenario;
    EXPECT_EQ(Files("/dev/shm"), shared) << scenario;
  }
  std::filesystem::remove_all(home);
  std::filesystem::remove_all(run);
}

TEST(Preload, ContextsComeAndGo) {
  ExpectOk(RunPreloaded("dlsym", "contexts"));
  ExpectOk(RunPreloaded("linked", "contexts"));
  ExpectOk(RunPreloaded("dlsym", "two_contexts"));
}

TEST(Preload, CopiesBetweenContextsFindTheirMemory) {
  for (const std::string overlap : {"off", "safe"}) {
    ExpectOk(RunPreloaded("dlsym", "copies_between_contexts",
                          "SIMCUDA_DEVICE_MEMORY=96MiB VRAMSPAN_DEVICE_MEMORY=24MiB "
                          "VRAMSPAN_OVERLAP=" +
                              overlap));
  }
}

TEST(Preload, ContextsEndByCallsOfEveryAbi) {
  for (const std::string call :
       {"cuCtxDestroy", "cuDevicePrimaryCtxRelease", "cuDevicePrimaryCtxRelease_v2",
        "cuDevicePrimaryCtxReset", "cuDevicePrimaryCtxReset_v2"}) {
    SCOPED_TRACE(call);
    ExpectOk(RunPreloaded("dlsym", "contexts_end:" + call));
  }
}

TEST(Preload, StreamsThatAreGoneAreForgotten) {
  for (const std::string call : {"cuStreamDestroy", "cuStreamDestroy_v2"}) {
    SCOPED_TRACE(call);
    ExpectOk(RunPreloaded("dlsym", "streams_end:" + call));
  }
}

TEST(Preload, WhatTheDriverLooksUpIsMapped) {
  for (const std::string call :
       {"cuGraphAddMemcpyNode", "cuGraphMemcpyNodeSetParams", "cuGraphAddMemsetNode",
        "cuGraphMemsetNodeSetParams", "cuGraphAddBatchMemOpNode", "cuGraphAddNode",
        "cuGraphAddNode_v2", "cuGraphNodeSetParams"}) {
    SCOPED_TRACE(call);
    ExpectOk(RunPreloaded("dlsym", "look_up:" + call,
                          "VRAMSPAN_DEVICE_MEMORY=16MiB VRAMSPAN_OVERLAP=all "
                          "SIMCUDA_DEVICE_MEMORY=256MiB"));
  }
}

TEST(Preload, ThreadsAllocateAndLaunchAtOnce) { ExpectOk(RunPreloaded("proc2_pt", "threads")); }

TEST(Preload, TwoUsersOfTheDriverShareTheirMemory) {
  ExpectOk(RunPreloaded("linked", "two_users"));
  ExpectOk(RunPreloaded("dlsym", "two_users"));
}

TEST(Preload, SaysThatALevelOfMessagesIsNone) {
  const Output loud = RunPreloaded("linked", "two_users", "VRAMSPAN_LOG=loud");
  ExpectOk(loud);
  EXPECT_THAT(loud.err, HasSubstr("VRAMSPAN_LOG is not a level"));
  const Output warning = RunPreloaded("linked", "two_users", "VRAMSPAN_LOG=warning");
  EXPECT_THAT(warning.err, Not(HasSubstr("VRAMSPAN_LOG")));
}

TEST(Preload, GivesMemoryBackWhereTheDriverNeedsIt) {
  const Output without = RunPlain("dlsym", "rescue");
  EXPECT_EQ(without.code, 1);
  const Output with = RunPreloaded("dlsym", "rescue", "VRAMSPAN_STATS=- VRAMSPAN_LOG=info");
  ExpectOk(with);
  EXPECT_THAT(with.err,
              AllOf(HasSubstr("the driver got "), HasSubstr("of the driver: its own VMM")));
  // When all of that is free again the budget is what it was at first.
  EXPECT_THAT(with.err, HasSubstr("the device budget got "));
  const auto budget = [&](const std::string& before) {
    const size_t at = with.err.find(before);
    return at == std::string::npos ? -1 : std::atoi(with.err.c_str() + at + before.size());
  };
  EXPECT_GT(budget("short (budget "), 0);
  EXPECT_EQ(budget("short (budget "), budget("(device budget "));
}

TEST(Preload, SourcesOfLaunches) {
  const Output cupti = RunPreloaded("dlsym", "doubled", "VRAMSPAN_TRACER=cupti VRAMSPAN_STATS=-");
  ExpectOk(cupti);
  EXPECT_THAT(cupti.err, HasSubstr("72 launches (0 named no memory of vramspan), 24 copies"));
  const Output hooks = RunPreloaded("dlsym", "doubled", "VRAMSPAN_TRACER=hooks VRAMSPAN_STATS=-");
  ExpectOk(hooks);
  EXPECT_THAT(hooks.err, HasSubstr("72 launches (0 named no memory of vramspan), 24 copies"));
  const Output off = RunPreloaded("dlsym", "doubled", "VRAMSPAN_TRACER=off VRAMSPAN_STATS=-");
  ExpectOk(off);
  EXPECT_THAT(off.err, Not(HasSubstr("launches (")));
}

// CUPTI goes to whoever asks for it, and the hooks see every launch from there on, once.
TEST(Preload, CuptiIsGivenToAToolThatAsks) {
  const struct {
    const char* how;
    const char* overlap;
  } cases[] = {{"tool_asks", "off"},
               {"tool_asks", "safe"},
               {"tool_binds", "safe"},
               {"tool_linked", "safe"},
               {"tool_finalizes", "all"}};
  for (const auto& [how, overlap] : cases) {
    SCOPED_TRACE(std::string(how) + " " + overlap);
    const Output output =
        RunPreloaded("proc2", how,
                     std::string("VRAMSPAN_TRACER=cupti VRAMSPAN_STATS=- VRAMSPAN_LOG=info ") +
                         "LINKED_TOOL='" LINKED_TOOL "' VRAMSPAN_OVERLAP=" + overlap);
    ExpectOk(output);
    EXPECT_THAT(output.err, HasSubstr("launches are seen by hooks from here on"));
    constexpr char kLaunched[] = "program: launched ";
    const size_t at = output.err.find(kLaunched);
    ASSERT_NE(at, std::string::npos) << output.err;
    const int launched = std::atoi(output.err.c_str() + at + sizeof(kLaunched) - 1);
    EXPECT_GE(launched, 24 * 5);
    EXPECT_THAT(output.err, HasSubstr(" " + std::to_string(launched) + " launches (0 named"));
  }
  // The hooks leave it alone in the first place.
  const Output hooks = RunPreloaded("proc2", "tool_asks", "VRAMSPAN_LOG=info");
  ExpectOk(hooks);
  EXPECT_THAT(hooks.err, Not(HasSubstr("given up")));
}

TEST(Preload, OffIsAsWithoutIt) {
  const Output off = RunPreloaded("dlsym", "doubled", "VRAMSPAN_OFF=1");
  EXPECT_EQ(off.code, 1);
  EXPECT_THAT(off.err, HasSubstr("MemAlloc(&b, bytes) is 2"));
  EXPECT_EQ(RunPreloaded("linked", "doubled", "VRAMSPAN_OFF=1").code, 1);
  EXPECT_EQ(RunPreloaded("linked", "doubled", "VRAMSPAN_OFF=0").code, 0);
  const Output counted = RunPreloaded("linked", "within", "VRAMSPAN_OFF=1 VRAMSPAN_STATS=-");
  ExpectOk(counted);
  EXPECT_THAT(counted.err, AllOf(StartsWith("vramspan: process "),
                                 EndsWith("\n  off in this process: VRAMSPAN_OFF\n")));
}

TEST(Preload, MisspeltVariablesAreNamed) {
  const Output output = RunPreloaded("dlsym", "within", "VRAMSPAN_OVERLAPP=all");
  ExpectOk(output);
  EXPECT_EQ(output.err,
            "vramspan: VRAMSPAN_OVERLAPP is no variable of vramspan; did you mean "
            "'VRAMSPAN_OVERLAP'?\n");
  EXPECT_THAT(RunPreloaded("dlsym", "within", "VRAMSPAN_OVERLAPP=all VRAMSPAN_TOLD=1").err,
              IsEmpty());
}

TEST(Preload, QuietSaysNothing) {
  const Output quiet = RunPreloaded("dlsym", "doubled", "VRAMSPAN_QUIET=1 VRAMSPAN_OVERLAPP=all");
  ExpectOk(quiet);
  EXPECT_THAT(quiet.err, IsEmpty());
}

// The program runs as without vramspan, and one line says why.
TEST(Preload, WhereItCannotWorkTheProgramRunsAsWithoutIt) {
  const struct {
    const char* environment;
    const char* words;
  } cases[] = {
      {"SIMCUDA_HOST_VMM=0", "cannot map host memory with driver 13.0 (NUMA node 0: "},
      {"SIMCUDA_STREAM_OPS=0", "has no stream memory operations"},
      {"VRAMSPAN_DEVICE_MEMORY=1TiB", "is more than the device's"},
      {"VRAMSPAN_DEVICE_MEMORY=8Gib", "8Gib"},
      {"VRAMSPAN_HOST_MEMORY=9000TiB", "is more than the machine's"},
      {"VRAMSPAN_TRACER=magic", "magic"},
      {"VRAMSPAN_TRACER=cupti VRAMSPAN_CUPTI_TRACER=/nowhere.so", "/nowhere.so"},
  };
  for (const auto& c : cases) {
    const Output output = RunPreloaded("dlsym", "within", c.environment);
    ExpectOk(output);
    EXPECT_THAT(output.err,
                AllOf(StartsWith("vramspan: the program runs as without vramspan on device 0: "),
                      HasSubstr(c.words)));
    EXPECT_EQ(output.err.find('\n'), output.err.size() - 1) << "one line: " << output.err;
    const Output quiet =
        RunPreloaded("dlsym", "within", std::string("VRAMSPAN_QUIET=1 ") + c.environment);
    ExpectOk(quiet);
    EXPECT_EQ(quiet.err, output.err) << "a comparison would take it for the same";
    const Output counted =
        RunPreloaded("dlsym", "within", std::string("VRAMSPAN_STATS=- ") + c.environment);
    ExpectOk(counted);
    EXPECT_THAT(counted.err, AllOf(StartsWith(output.err), HasSubstr("\n  off on device 0: "),
                                   Not(HasSubstr("fetched"))));
  }
}

TEST(Preload, AProcessWithoutADriverHasNone) {
  ExpectOk(RunPlain("none", "absent"));
  ExpectOk(RunPreloaded("none", "absent"));
}

std::string FileText(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(Preload, StatisticsGoWhereTheyShould) {
  const std::string path = ::testing::TempDir() + "/vramspan_preload_stats.json";
  std::remove(path.c_str());
  const Output json = RunPreloaded("dlsym", "doubled", "VRAMSPAN_STATS=" + path);
  ExpectOk(json);
  EXPECT_THAT(json.err, Not(HasSubstr("work recorded")));
  EXPECT_THAT(FileText(path),
              AllOf(StartsWith(R"({"schema":"vramspan.stats")"), HasSubstr(R"("launches":72)")));
  std::remove(path.c_str());
}

}  // namespace
}  // namespace vramspan_test
