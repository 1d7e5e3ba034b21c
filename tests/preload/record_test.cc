// Programs that are recorded: what the trace says of them, and that they do not mind.
#include <gmock/gmock.h>
#include <sys/wait.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

#include "runtime/trace/block.h"
#include "tests/preload/run_program.h"
#include "tests/trace/sample.h"
#include "tools/replay/load_trace.h"
#include "tools/replay/profile.h"
#include "tools/replay/repeat_events.h"

namespace vramspan_test {
namespace {

using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::Not;
using namespace vramspan;          // NOLINT
using namespace vramspan::replay;  // NOLINT

class RecordTest : public ::testing::Test {
 protected:
  Output Record(const std::string& scenario, const std::string& environment = "") {
    return RunPreloaded("default", scenario, "VRAMSPAN_RECORD=" + path_ + " " + environment);
  }
  // Where the last block of the file begins.
  size_t LastBlock() const {
    std::ifstream file(path_, std::ios::binary);
    const std::string bytes((std::istreambuf_iterator<char>(file)), {});
    size_t last = std::string::npos;
    for (size_t at = trace::FindBlock(bytes, 0); at != std::string::npos;
         at = trace::FindBlock(bytes, at + 1)) {
      last = at;
    }
    return last;
  }
  // As a user types it.
  static int RunTool(const std::string& options, const std::string& scenario) {
    const std::string command =
        "env -u VRAMSPAN_DRIVER -u VRAMSPAN_TRACER SIMCUDA_DEVICE_MEMORY=48MiB "
        "ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=0 '" VRAMSPAN_BINARY
        "' run --simulate --quiet " +
        options + " -- '" PROGRAM_LINKED_PATH "' default " + scenario + " >/dev/null";
    const int status = std::system(command.c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  RecordedRun Load() {
    StatusOr<RecordedRun> run = LoadTrace(path_);
    EXPECT_TRUE(run.ok()) << run.status();
    if (!run.ok()) return {};
    EXPECT_TRUE(run->Check().ok()) << run->Check();
    return *std::move(run);
  }

  trace::TestFolder folder_;
  const std::string path_ = folder_.File("t.vramspan");
};

// What is secret in it is not for a file that is passed on.
TEST_F(RecordTest, WithoutTheCommandLine) {
  EXPECT_EQ(RunTool("--no-command-line --record " + path_, "doubled"), 0);
  const std::string program = Load().setting.program;
  EXPECT_THAT(program, HasSubstr("program"));
  EXPECT_THAT(program, Not(HasSubstr("doubled")));
  const Output wrong = Record("within", "VRAMSPAN_NO_COMMAND_LINE=perhaps");
  EXPECT_EQ(wrong.code, 0);
  EXPECT_THAT(wrong.err, HasSubstr("VRAMSPAN_NO_COMMAND_LINE: 'perhaps' is neither yes nor no"));
}

TEST_F(RecordTest, ANameThatIsTakenIsSaid) {
  std::ofstream(path_) << "somebody's";
  const Output output = Record("doubled");
  EXPECT_EQ(output.code, 0) << output.err;
  EXPECT_THAT(output.err, HasSubstr(path_ + " exists already, so this process is recorded in "));
  const Output device = RunPreloaded("default", "within", "VRAMSPAN_RECORD=/dev/full");
  EXPECT_EQ(device.code, 0) << device.err;
  EXPECT_THAT(device.err, HasSubstr("/dev/full, which is not a regular file"));
}

// It needs twice the device's memory, so vramspan is at work.
TEST_F(RecordTest, WhatCannotBeRecordedRunsAllTheSame) {
  for (const char* const variable : {"VRAMSPAN_RECORD", "VRAMSPAN_RECORD_EVENTS"}) {
    const Output output =
        RunPreloaded("default", "doubled", std::string(variable) + "=/no/such/folder/t");
    EXPECT_EQ(output.code, 0) << output.err;
    EXPECT_EQ(output.out, "ok\n");
    EXPECT_THAT(output.err,
                HasSubstr(std::string(variable) + ": cannot write the recording /no/such/"));
    EXPECT_THAT(output.err, HasSubstr("; nothing is recorded there\n"));
  }
}

// 24 buffers, filled once and added to twice, each copied back in the end.
TEST_F(RecordTest, TwiceTheDevicesMemory) {
  const Output output = Record("doubled", "VRAMSPAN_STATS=-");
  EXPECT_EQ(output.code, 0) << output.err;
  EXPECT_EQ(output.out, "ok\n");
  const RecordedRun run = Load();
  EXPECT_THAT(run.problems, IsEmpty());
  EXPECT_EQ(run.setting.policy, "cost");
  EXPECT_THAT(run.setting.program, HasSubstr("doubled"));
  EXPECT_EQ(run.allocations.size(), 24u);
  std::map<std::string, int> by_name;
  size_t measured = 0;
  for (const RecordedWork& work : run.works) {
    ++by_name[run.codes[work.code].name];
    measured += work.timed() ? 1 : 0;
    ASSERT_EQ(run.set(work.set).size(), 1u);
    EXPECT_TRUE(work.complete);
  }
  EXPECT_EQ(by_name["fill_hash"], 24);
  EXPECT_EQ(by_name["add_constant"], 48);
  EXPECT_EQ(by_name["(copies and fills)"], 24);
  EXPECT_EQ(measured, run.works.size());
  // What the statistics say moved, moved.
  uint64_t in = 0;
  for (const RecordedMove& move : run.moves) in += move.in ? 1 : 0;
  EXPECT_THAT(output.err, HasSubstr(", " + std::to_string(in) + " chunks"));
  EXPECT_GT(run.moves.size(), 12u);
}

// What its decisions were made from, told again, comes to the same decisions.
TEST_F(RecordTest, EventsGiveTheSameActions) {
  for (const char* const scenario : {"doubled", "expandable", "pools_churn", "exit_busy"}) {
    std::filesystem::remove(path_);
    ASSERT_EQ(RunTool("--record-events " + path_, scenario), 0) << scenario;
    const StatusOr<RepeatedEvents> again = RepeatEvents(path_);
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_TRUE(again->whole);
    EXPECT_EQ(again->damage, "");
    EXPECT_FALSE(again->difference.has_value()) << again->difference->now;
    EXPECT_THAT(again->program, HasSubstr(scenario));
    EXPECT_GT(again->actions, 50u) << scenario;
    const std::string repeat = std::string("'" VRAMSPAN_BINARY "' repeat ") + path_;
    EXPECT_EQ(std::system((repeat + " | grep -q ' actions, all the same$'").c_str()), 0);
    // Of a file that was cut, what is left is told, and that something is missing.
    std::filesystem::resize_file(path_, std::filesystem::file_size(path_) - 1);
    const int cut = std::system((repeat + " >/dev/null 2>&1").c_str());
    EXPECT_EQ(WEXITSTATUS(cut), 1);
    EXPECT_THAT(RepeatEvents(path_)->damage, HasSubstr("the file ends in the middle of a block"));
    std::filesystem::resize_file(path_, LastBlock() + 20);
    EXPECT_THAT(RepeatEvents(path_)->damage, HasSubstr("it ends inside a block's header"));
  }
}

TEST_F(RecordTest, EventsThatCannotBeWrittenEndNothing) {
  const Output full = RunPreloaded("default", "within", "VRAMSPAN_RECORD_EVENTS=/dev/full");
  EXPECT_EQ(full.code, 0) << full.err;
  EXPECT_THAT(full.err, HasSubstr("/dev/full, which is not a regular file"));
  std::ofstream(path_) << "somebody's";
  const Output taken = RunPreloaded("default", "doubled", "VRAMSPAN_RECORD_EVENTS=" + path_);
  EXPECT_EQ(taken.code, 0) << taken.err;
  EXPECT_THAT(taken.err, HasSubstr(path_ + " exists already"));
}

TEST_F(RecordTest, WhatFits) {
  EXPECT_EQ(Record("within").code, 0);
  const RecordedRun run = Load();
  EXPECT_THAT(run.problems, IsEmpty());
  EXPECT_THAT(run.moves, IsEmpty());
  ASSERT_FALSE(run.works.empty());
  for (const RecordedWork& work : run.works) EXPECT_EQ(work.remote, 0u);
}

// Of a kernel that is launched again and again some launches are measured; the others take as long.
TEST_F(RecordTest, SomeOfManyAreMeasured) {
  const auto measured = [&](const char* environment) {
    std::filesystem::remove(path_);
    EXPECT_EQ(Record("within_long", environment).code, 0);
    const RecordedRun run = Load();
    size_t count = 0;
    EXPECT_GE(run.works.size(), 408u);
    for (const RecordedWork& work : run.works) {
      EXPECT_TRUE(work.timed());
      count += work.guessed ? 0 : 1;
    }
    return count;
  };
  const auto cost = [&] {
    uint64_t sum = 0;
    for (const RecordedWork& work : Load().works) sum += work.cost;
    return sum;
  };
  const size_t some = measured("");
  EXPECT_GT(cost(), 400u * 100) << "nanoseconds; of the 408 a few are told of by nobody";
  EXPECT_GE(some, 4u + 16 + 4);
  EXPECT_LT(some, 200u);
  EXPECT_GE(measured("VRAMSPAN_RECORD_TIMES=all"), 408u);
}

// Whoever sees the calls.
TEST_F(RecordTest, WhatTheProgramWaitsForIsTold) {
  using For = RecordedWait::For;
  for (const char* tracer : {"hooks", "cupti"}) {
    std::filesystem::remove(path_);
    EXPECT_EQ(Record("pools_synchronised", std::string("VRAMSPAN_TRACER=") + tracer).code, 0);
    const RecordedRun run = Load();
    EXPECT_TRUE(run.setting.waits_told);
    // Both of a stream by either name, an event, and the context by either.
    std::vector<For> kinds;
    uint64_t before = 0;
    for (const RecordedWait& wait : run.waits) {
      kinds.push_back(wait.what);
      EXPECT_GE(wait.time - wait.duration, before) << "one after the other";
      before = wait.time;
    }
    EXPECT_EQ(kinds,
              (std::vector<For>{For::kStream, For::kStream, For::kEvent, For::kAll, For::kAll}))
        << tracer;
  }
  // Copies that return when they are done: each of 24 buffers.
  std::filesystem::remove(path_);
  EXPECT_EQ(Record("doubled").code, 0);
  const std::vector<RecordedWait> waits = Load().waits;
  EXPECT_GE(std::count_if(waits.begin(), waits.end(),
                          [](const RecordedWait& w) { return w.what == For::kStream; }),
            24);
  std::filesystem::remove(path_);
  EXPECT_EQ(Record("pools_synchronised", "VRAMSPAN_TRACER=off").code, 0);
  EXPECT_FALSE(Load().setting.waits_told) << "nobody sees them";
}

// Memory that the program maps itself, and that of pools.
TEST_F(RecordTest, MemoryOfOtherKinds) {
  for (const char* scenario : {"expandable", "pools_churn", "pools_churn_pt", "threads"}) {
    std::filesystem::remove(path_);
    const Output output = Record(scenario);
    EXPECT_EQ(output.code, 0) << scenario << output.err;
    const RecordedRun run = Load();
    EXPECT_THAT(run.problems, IsEmpty()) << scenario;
    EXPECT_FALSE(run.works.empty()) << scenario;
    size_t named = 0;
    for (const RecordedWork& work : run.works) named += run.set(work.set).empty() ? 0 : 1;
    EXPECT_GT(named * 10, run.works.size() * 9) << scenario;
  }
}

// A program of several processes: each has a file.
TEST_F(RecordTest, AFileThatIsThereIsLeftAlone) {
  EXPECT_EQ(Record("within").code, 0);
  const auto size = std::filesystem::file_size(path_);
  EXPECT_EQ(Record("within").code, 0);
  EXPECT_EQ(std::filesystem::file_size(path_), size);
  int files = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::filesystem::path(path_).parent_path())) {
    const auto run = LoadTrace(entry.path());
    EXPECT_TRUE(run.ok()) << run.status();
    ++files;
  }
  EXPECT_EQ(files, 2);
}

// What it wrote until a quarter of a second ago is there.
// The third buffer and two others are twelve of twenty-four MiB. Everybody leaves the device in
// this program, but what a profile keeps there.
TEST_F(RecordTest, WhatAProfileKeepsStaysOnTheDevice) {
  Profile profile;
  profile.device_memory = MiB(24);
  profile.policy = "cost";
  profile.chunk_log2 = 21;
  const auto left = [&](const std::vector<Pin>& pins) {
    profile.pins = pins;
    std::filesystem::remove(path_);
    const std::string file = folder_.File("a.profile");
    std::ofstream(file) << ProfileText(profile);
    EXPECT_EQ(RunTool("--profile '" + file + "' --record '" + path_ + "'", "doubled"), 0);
    const RecordedRun run = Load();
    EXPECT_EQ(run.setting.device_budget, MiB(24));
    std::set<uint32_t> allocations;
    for (const RecordedMove& move : run.moves) {
      if (!move.in) allocations.insert(move.allocation);
    }
    return allocations;
  };
  EXPECT_THAT(left({}), IsSupersetOf({2u, 11u, 23u}));
  const std::set<uint32_t> others = left({{MiB(4), 24}, {MiB(4), 3}, {MiB(4), 12}});
  EXPECT_THAT(others, Not(AnyOf(Contains(2u), Contains(11u), Contains(23u))));
  EXPECT_FALSE(others.empty());
}

TEST_F(RecordTest, AProgramThatIsKilledLeavesWhatItWrote) {
  EXPECT_EQ(Record("dies_killed").code, 128 + 9);
  const RecordedRun run = Load();
  ASSERT_FALSE(run.problems.empty());
  EXPECT_THAT(run.problems[0], HasSubstr("no end"));
}

TEST(Profile, OfAnotherDeviceIsSaidToBeStale) {
  const Output stale = RunPreloaded("default", "within", "VRAMSPAN_PROFILE_DEVICE=GPU-other");
  EXPECT_EQ(stale.code, 0);
  EXPECT_THAT(stale.err, HasSubstr("the profile is stale: it was tuned for device GPU-other"));
}

TEST_F(RecordTest, WhereNothingCanBeWrittenItIsSaid) {
  const Output output =
      RunPreloaded("default", "within", "VRAMSPAN_RECORD=/no/such/folder/t.vramspan");
  EXPECT_THAT(output.err, HasSubstr("VRAMSPAN_RECORD"));
  EXPECT_THAT(output.err, HasSubstr("/no/such/folder/t.vramspan: No such file or directory"));
}

}  // namespace
}  // namespace vramspan_test
