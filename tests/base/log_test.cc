#include "runtime/base/log.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <string>

namespace vramspan {
namespace {

using ::testing::HasSubstr;

// What `body` writes to stderr in a process of its own, since counts and thresholds are a
// process's.
template <typename Body>
std::string StderrOf(Body body) {
  int ends[2];
  if (pipe(ends) != 0) std::abort();
  const pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], STDERR_FILENO);
    close(ends[0]);
    close(ends[1]);
    RememberStderr();
    body();
    _exit(0);
  }
  close(ends[1]);
  std::string text;
  char buffer[4096];
  for (ssize_t n; (n = read(ends[0], buffer, sizeof(buffer))) > 0;) text.append(buffer, n);
  close(ends[0]);
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  return text;
}

long Lines(const std::string& text) { return std::count(text.begin(), text.end(), '\n'); }

TEST(Log, WritesOneLine) {
  const std::string text = StderrOf([] { Log(LogLevel::kError, "the disk is full"); });
  EXPECT_EQ(text, "vramspan: the disk is full\n");
}

TEST(Log, KeepsToTheThreshold) {
  const std::string text = StderrOf([] {
    SetLogThreshold(LogLevel::kWarning);
    Log(LogLevel::kError, "error");
    Log(LogLevel::kWarning, "warning");
    Log(LogLevel::kInfo, "info");
    SetLogThreshold(LogLevel::kInfo);
    Log(LogLevel::kInfo, "info later");
    SetLogThreshold(LogLevel::kOff);
    Log(LogLevel::kError, "error later");
    Log(LogLevel::kOff, "never");
  });
  EXPECT_EQ(text, "vramspan: error\nvramspan: warning\nvramspan: info later\n");
}

TEST(Log, ALoopCannotFloodTheTerminal) {
  const std::string text = StderrOf([] {
    SetLogThreshold(LogLevel::kInfo);
    for (int i = 0; i < 1000; ++i) Log(i % 2 == 0 ? LogLevel::kWarning : LogLevel::kInfo, "again");
    Log(LogLevel::kError, "an error is always shown");
  });
  EXPECT_EQ(Lines(text), 64 + 1 + 1);
  EXPECT_THAT(text, HasSubstr("further messages of this process are not shown\n"
                              "vramspan: an error is always shown\n"));
}

TEST(Log, WhatIsBelowTheThresholdDoesNotCount) {
  const std::string text = StderrOf([] {
    SetLogThreshold(LogLevel::kWarning);
    for (int i = 0; i < 1000; ++i) Log(LogLevel::kInfo, "hidden");
    Log(LogLevel::kWarning, "shown");
  });
  EXPECT_EQ(text, "vramspan: shown\n");
}

TEST(Log, ErrorsAreNeverDropped) {
  const std::string text = StderrOf([] {
    for (int i = 0; i < 200; ++i) Log(LogLevel::kError, "error");
  });
  EXPECT_EQ(Lines(text), 200);
}

// A program that closes its standard streams gets their numbers for its data.
TEST(Log, AFileThatTookTheNumberGetsNothing) {
  char name[] = "/tmp/vramspan_log_test.XXXXXX";
  const int data = mkstemp(name);
  ASSERT_GE(data, 0);
  const std::string text = StderrOf([&] {
    close(STDERR_FILENO);
    if (open(name, O_WRONLY) != STDERR_FILENO) _exit(1);
    Log(LogLevel::kError, "nobody is told of this");
    if (WriteToStderr("statistics\n") != EBADF) _exit(2);
    if (write(STDERR_FILENO, "MY DATA\n", 8) != 8) _exit(3);
  });
  EXPECT_EQ(text, "");
  EXPECT_EQ(lseek(data, 0, SEEK_END), 8);
  close(data);
  unlink(name);
}

TEST(Log, AClosedPipeDoesNotEndTheProgram) {
  const std::string text = StderrOf([] {
    int ends[2];
    if (pipe(ends) != 0 || dup2(ends[1], STDERR_FILENO) < 0) _exit(1);
    close(ends[0]);
    RememberStderr();
    Log(LogLevel::kError, "nobody reads this");
  });
  EXPECT_EQ(text, "");
}

TEST(Log, AFullPipeIsNotWaitedForAndTheLossIsTold) {
  const std::string text = StderrOf([] {
    int ends[2];
    const int reader = dup(STDERR_FILENO);
    if (pipe(ends) != 0 || dup2(ends[1], STDERR_FILENO) < 0) _exit(1);
    RememberStderr();
    fcntl(STDERR_FILENO, F_SETFL, O_NONBLOCK);
    const std::string page(4096, 'x');
    while (write(STDERR_FILENO, page.data(), page.size()) > 0) {
    }
    fcntl(STDERR_FILENO, F_SETFL, 0);
    Log(LogLevel::kError, "lost");
    Log(LogLevel::kError, "lost, too");
    dup2(reader, STDERR_FILENO);
    RememberStderr();
    Log(LogLevel::kError, "read");
  });
  EXPECT_EQ(text,
            "vramspan: 2 messages were lost, because nobody read them\n"
            "vramspan: read\n");
}

TEST(CheckDeathTest, NamesFileAndCondition) {
  const int two = 2;
  // Death tests catch stderr in a file of their own.
  EXPECT_DEATH(RememberStderr();
               VS_CHECK(two == 3),
               "vramspan: tests/base/log_test.cc:[0-9]+: broken invariant: two == 3");
  VS_CHECK(two == 2);
}

TEST(CheckDeathTest, DebugChecksAreForDebugBuilds) {
  int evaluated = 0;
  VS_DCHECK(++evaluated == 1);
#ifdef VRAMSPAN_DCHECK
  EXPECT_EQ(evaluated, 1);
  EXPECT_DEATH(RememberStderr(); VS_DCHECK(evaluated == 7), "broken invariant");
#else
  EXPECT_EQ(evaluated, 0);
#endif
}

}  // namespace
}  // namespace vramspan
