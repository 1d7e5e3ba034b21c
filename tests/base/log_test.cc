#include "runtime/base/log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
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

TEST(CheckDeathTest, NamesFileAndCondition) {
  const int two = 2;
  EXPECT_DEATH(VS_CHECK(two == 3), "vramspan: .*log_test.cc:[0-9]+: broken invariant: two == 3");
  VS_CHECK(two == 2);
}

TEST(CheckDeathTest, DebugChecksAreForDebugBuilds) {
  int evaluated = 0;
  VS_DCHECK(++evaluated == 1);
#ifdef VRAMSPAN_DCHECK
  EXPECT_EQ(evaluated, 1);
  EXPECT_DEATH(VS_DCHECK(evaluated == 7), "broken invariant");
#else
  EXPECT_EQ(evaluated, 0);
#endif
}

}  // namespace
}  // namespace vramspan
