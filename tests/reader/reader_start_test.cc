// What `vramspan run` starts beside a program, and what the program notices of it: nothing.
#include <absl/strings/match.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_split.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "runtime/base/process_start.h"
#include "tests/tools/run_binary.h"
#include "tools/reader/exchange.h"
#include "tools/reader/first_process.h"
#include "tools/reader/meeting.h"

namespace vramspan::reader {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class ReaderStartTest : public testing::Test {
 protected:
  // The pipe is what a shell gives a program, and has to end with it.
  Output Run(const std::string& arguments, const std::string& environment = "") const {
    return RunBinary(Environment(environment), "run " + arguments + " | cat");
  }
  // Whatever the first process of this machine is.
  std::string Environment(const std::string& more = "") const {
    return absl::StrCat("-u VRAMSPAN_TRACER -u XDG_RUNTIME_DIR VRAMSPAN_READ=on ",
                        "ASAN_OPTIONS=verify_asan_link_order=0 XDG_CACHE_HOME='", cache_, "' ",
                        more);
  }
  // What a program says of which there is a reader; none: there is none.
  std::string Told(const std::string& options, const std::string& environment = "") const {
    return Run(options + " -- '" LONE_PROGRAM "'", environment).out;
  }
  bool AllGoes() const {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (Left() != 0) {
      if (std::chrono::steady_clock::now() > until) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return true;
  }
  size_t Left() const {
    size_t left = 0;
    std::error_code none;
    for (const auto& entry : fs::directory_iterator(place_, none)) {
      left += IsMeetingName(entry.path().filename().string()) ? 1 : 0;
    }
    return left;
  }
  std::string LeftBehind(uint64_t space, pid_t program, uint64_t start) const {
    const std::string path =
        absl::StrCat(place_, "/reading-", space, "-", program, "-", start, "-0a");
    fs::create_directories(path);
    EXPECT_EQ(chmod(path.c_str(), 0700), 0);
    EXPECT_TRUE(MakeExchange(path).ok());
    return path;
  }

  const TemporaryFolder folder_;
  const std::string cache_ = folder_.path() + "/cache", place_ = cache_ + "/vramspan";
};

TEST_F(ReaderStartTest, TheProgramNoticesNothing) {
  const Output ran = Run("-- '" LONE_PROGRAM "'");
  EXPECT_THAT(ran.out, HasSubstr("wait none\nsignal none\nfolder " + place_ + "/reading-"));
  EXPECT_THAT(ran.out, HasSubstr("reader vramspan answer-readings " + place_));
  EXPECT_THAT(ran.out, HasSubstr("variables of the user\n"));
  EXPECT_THAT(ran.out, AllOf(HasSubstr("open /dev/null\n"), Not(HasSubstr("open pipe:")),
                             Not(HasSubstr("open " + folder_.path() + "/out"))));
  EXPECT_TRUE(AllGoes());
}

TEST_F(ReaderStartTest, TheProgramKeepsItsExitStatus) {
  for (const char* const program : {"sh -c 'exit 7'", "sh -c 'kill -9 $$'", "no-such-program"}) {
    const Output ran = RunBinary(Environment(), absl::StrCat("run -- ", program));
    EXPECT_EQ(ran.code, program[0] == 'n' ? 127 : program[7] == 'e' ? 7 : 128 + 9) << program;
  }
  EXPECT_TRUE(AllGoes());
}

TEST_F(ReaderStartTest, ThereIsNoneWhereItWouldChangeNothing) {
  for (const char* const options :
       {"--read off", "--off", "--overlap off", "--overlap safe", "--tracer off"}) {
    EXPECT_THAT(Told(options), HasSubstr("folder none\n")) << options;
  }
  for (const char* const variable :
       {"VRAMSPAN_READ=no", "VRAMSPAN_OFF=1", "VRAMSPAN_OVERLAP=all"}) {
    EXPECT_THAT(Told("", variable), HasSubstr("folder none\n")) << variable;
  }
  EXPECT_THAT(Told("--read on", "VRAMSPAN_READ=off"), HasSubstr("\nreader "));
  EXPECT_THAT(Told("--overlap proven"), HasSubstr("\nreader "));
  EXPECT_THAT(Told("--read off", "VRAMSPAN_READER=/another"), HasSubstr("folder none\n"));
  EXPECT_TRUE(AllGoes());
}

TEST_F(ReaderStartTest, WhereItCannotBeTheProgramRunsAllTheSame) {
  const Output ran =
      RunBinary(Environment("XDG_CACHE_HOME=/no/such VRAMSPAN_LOG=info"), "run -- sh -c 'exit 3'");
  EXPECT_EQ(ran.code, 3);
  EXPECT_THAT(ran.err, HasSubstr("no code is read while the program runs: cannot use /no"));
  // The user's runtime folder is the next best.
  const std::string runtime = folder_.path() + "/runtime";
  fs::create_directory(runtime);
  EXPECT_THAT(Told("", "XDG_CACHE_HOME=/no/such XDG_RUNTIME_DIR='" + runtime + "'"),
              HasSubstr("folder " + runtime + "/vramspan/reading-"));
}

// Whoever made a folder for temporary files takes it away right after the program. The link to
// libraries whose path has a space lies there with and without a reader
// (tools/vramspan/loader_path.h).
TEST_F(ReaderStartTest, NothingLiesInTheFolderForTemporaryFiles) {
  const std::string temporary = folder_.path() + "/temporary";
  fs::create_directory(temporary);
  const auto listed = [&](const std::string& options) {
    const Output ran = Run(options + " -- ls -A '" + temporary + "'", "TMPDIR='" + temporary + "'");
    EXPECT_EQ(ran.err, "");
    return ran.out;
  };
  EXPECT_EQ(listed("--read on"), listed("--read off"));
  fs::remove_all(temporary + absl::StrCat("/vramspan-", geteuid()));
  std::error_code error;
  EXPECT_TRUE(fs::remove(temporary, error)) << error.message();
}

TEST_F(ReaderStartTest, TheUsersMaskIsNotTheFolders) {
  for (const mode_t mask : {mode_t{0}, mode_t{0777}}) {
    // The program has the mask, but not what it prints to.
    const std::string out = folder_.path() + "/out";
    std::ofstream(out) << "";
    const std::string command = absl::StrCat(
        "umask ", mask == 0 ? "0" : "0777", "; env ", Environment(), " '" VRAMSPAN_BINARY,
        "' run -- sh -c 'stat -c %a \"$VRAMSPAN_READER\" \"$VRAMSPAN_READER\"/*' >>'", out,
        "' 2>&1");
    EXPECT_EQ(std::system(command.c_str()), 0);
    EXPECT_EQ(ReadText(out), "700\n600\n600\n") << mask;
    EXPECT_TRUE(AllGoes());
    fs::remove(out);
  }
}

TEST_F(ReaderStartTest, WithFewDescriptorsNothingIsLeft) {
  for (int most = 4; most <= 12; ++most) {
    // With so few nothing may start at all, for which the reader is no reason.
    const auto ran = [&](const char* options) {
      const std::string command =
          absl::StrCat("exec 2>/dev/null; ulimit -n ", most, "; exec env ", Environment(),
                       " '" VRAMSPAN_BINARY "' run ", options, " -- true");
      return std::system(command.c_str());
    };
    EXPECT_EQ(ran(""), ran("--read off")) << most;
    EXPECT_TRUE(AllGoes()) << most;
  }
}

TEST_F(ReaderStartTest, WhatKilledReadersHaveLeftGoes) {
  const pid_t child = fork();
  if (child == 0) _exit(0);
  waitpid(child, nullptr, 0);
  const uint64_t space = ProcessNumberSpace(), start = ProcessStart(getpid()).value();
  const std::string ended = LeftBehind(space, child, 1), known = LeftBehind(space, child, 0),
                    another = LeftBehind(space, getpid(), start + 1),
                    lives = LeftBehind(space, getpid(), start),
                    unseen = LeftBehind(space + 1, child, 1), old = LeftBehind(space + 1, child, 2);
  const timespec then[] = {{.tv_sec = 1, .tv_nsec = 0}, {.tv_sec = 1, .tv_nsec = 0}};
  ASSERT_EQ(utimensat(AT_FDCWD, old.c_str(), then, 0), 0);
  fs::create_directories(place_ + "/reading-and-more");
  EXPECT_EQ(Run("-- true").code, 0);
  for (const std::string& path : {ended, known, another, old})
    EXPECT_FALSE(fs::exists(path)) << path;
  for (const std::string& path : {lives, unseen, place_ + "/reading-and-more"}) {
    EXPECT_TRUE(fs::exists(path)) << path;
  }
}

// Such a process leaves zombies.
TEST_F(ReaderStartTest, AFirstProcessThatIsNotKnownHasNone) {
  const std::string comm = folder_.path() + "/comm";
  for (const auto& [name, waits] :
       std::initializer_list<std::pair<const char*, bool>>{{"systemd", true},
                                                           {"tini", true},
                                                           {"python3", false},
                                                           {"bash", true},
                                                           {"sh", true},
                                                           {"", false},
                                                           {"systemd2", false},
                                                           {"sy\x1b[31m", false}}) {
    std::ofstream(comm) << name << "\n";
    EXPECT_EQ(CheckFirstProcess(comm, "/no/such").ok(), waits) << name;
  }
  const std::string status = folder_.path() + "/status";
  for (const auto& [line, ignores] :
       std::initializer_list<std::pair<const char*, bool>>{{"SigIgn:\t0000000000010000", true},
                                                           {"SigIgn:\t0000000000011000", true},
                                                           {"SigIgn:\t0000000000021000", false},
                                                           {"SigCgt:\t0000000000010000", false},
                                                           {"SigIgn:\tffffz", false}}) {
    std::ofstream(status) << "Name:\tpython3\n" << line << "\nSigCgt:\t0000000000000000\n";
    std::ofstream(comm) << "python3\n";
    EXPECT_EQ(CheckFirstProcess(comm, status).ok(), ignores) << line;
  }
  EXPECT_THAT(CheckFirstProcess("/no/such").message(), HasSubstr("is not to be seen"));
  EXPECT_THAT(Told("", "VRAMSPAN_READ="),
              HasSubstr(CheckFirstProcess().ok() ? "folder /" : "folder none\n"));
  EXPECT_THAT(Told("--read on", "VRAMSPAN_READ="), HasSubstr("folder /"));
}

// An orphan of such a process becomes its child, and it would be waited for.
TEST_F(ReaderStartTest, AProcessThatWaitsForAllBelowItHasNone) {
  const std::string out = folder_.path() + "/out";
  const pid_t run = fork();
  if (run == 0) {
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    setenv("VRAMSPAN_LOG", "info", 1);
    setenv("VRAMSPAN_READ", "on", 1);
    unsetenv("VRAMSPAN_TRACER");
    const int fd = open(out.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    dup2(fd, STDOUT_FILENO);
    dup2(fd, STDERR_FILENO);
    execl(VRAMSPAN_BINARY, "vramspan", "run", "--", LONE_PROGRAM, nullptr);
    _exit(99);
  }
  int status = 0;
  waitpid(run, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_THAT(ReadText(out), AllOf(HasSubstr("wait none\n"), HasSubstr("folder none\n"),
                                   HasSubstr("no code is read while the program runs: this")));
}

// No user types it.
TEST_F(ReaderStartTest, ItsCommandIsShownNowhere) {
  for (const char* const arguments : {"--help", "no-such-command", "completion bash"}) {
    const Output ran = RunBinary("", arguments);
    EXPECT_THAT(ran.out + ran.err, Not(HasSubstr("answer-readings"))) << arguments;
  }
}

}  // namespace
}  // namespace vramspan::reader
