// What `vramspan run` starts beside a program, and what the program notices of it: nothing.
#include <absl/strings/match.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_split.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <thread>

#include "tests/tools/run_binary.h"

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
    return RunBinary(absl::StrCat("-u VRAMSPAN_TRACER ASAN_OPTIONS=verify_asan_link_order=0 ",
                                  "TMPDIR='", folder_.path(), "' ", environment),
                     "run " + arguments + " | cat");
  }
  // What a program says of which there is a reader; none: there is none.
  std::string Told(const std::string& options, const std::string& environment = "") const {
    return Run(options + " -- '" LONE_PROGRAM "'", environment).out;
  }
  bool AllGoes() const {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    for (;;) {
      size_t left = 0;
      for (const auto& entry : fs::directory_iterator(folder_.path())) {
        left += absl::StartsWith(entry.path().filename().string(), "vramspan-read-") ? 1 : 0;
      }
      if (left == 0) return true;
      if (std::chrono::steady_clock::now() > until) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }

  const TemporaryFolder folder_;
};

TEST_F(ReaderStartTest, TheProgramNoticesNothing) {
  const Output ran = Run("-- '" LONE_PROGRAM "'");
  EXPECT_THAT(ran.out, HasSubstr("wait none\nsignal none\nfolder " + folder_.path()));
  EXPECT_THAT(ran.out, HasSubstr("reader vramspan answer-readings " + folder_.path()));
  EXPECT_THAT(ran.out, HasSubstr("variables of the user\n"));
  EXPECT_THAT(ran.out, AllOf(HasSubstr("open /dev/null\n"), Not(HasSubstr("open pipe:")),
                             Not(HasSubstr("open " + folder_.path() + "/out"))));
  EXPECT_TRUE(AllGoes());
}

TEST_F(ReaderStartTest, TheProgramKeepsItsExitStatus) {
  for (const char* const program : {"sh -c 'exit 7'", "sh -c 'kill -9 $$'", "no-such-program"}) {
    const Output ran =
        RunBinary("TMPDIR='" + folder_.path() + "'", absl::StrCat("run -- ", program));
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
  const Output ran = RunBinary("TMPDIR=/no/such VRAMSPAN_LOG=info", "run -- sh -c 'exit 3'");
  EXPECT_EQ(ran.code, 3);
}

// An orphan of such a process becomes its child, and it would be waited for.
TEST_F(ReaderStartTest, AProcessThatWaitsForAllBelowItHasNone) {
  const std::string out = folder_.path() + "/out";
  const pid_t run = fork();
  if (run == 0) {
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    setenv("VRAMSPAN_LOG", "info", 1);
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
