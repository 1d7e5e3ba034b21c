#include "tests/mover/alone.h"

#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <string_view>

extern char** environ;

namespace vramspan_test {
namespace {

constexpr char kAlone[] = "VRAMSPAN_TEST_ALONE";

std::string_view NameOf(std::string_view variable) {
  return variable.substr(0, variable.find('='));
}

}  // namespace

bool IsAlone() { return std::getenv(kAlone) != nullptr; }

void ExpectPassesAlone(const std::vector<std::string>& environment) {
  std::vector<std::string> variables = environment;
  variables.push_back(std::string(kAlone) + "=1");
  const size_t own = variables.size();
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    // The parent's own report and its part of the tests are not the child's.
    if (text.starts_with("GTEST_")) continue;
    const bool replaced =
        std::any_of(variables.begin(), variables.begin() + static_cast<std::ptrdiff_t>(own),
                    [&](const std::string& v) { return NameOf(v) == NameOf(text); });
    if (!replaced) variables.emplace_back(text);
  }
  std::vector<char*> block;
  for (std::string& v : variables) block.push_back(v.data());
  block.push_back(nullptr);

  const testing::TestInfo* const test = testing::UnitTest::GetInstance()->current_test_info();
  std::string filter =
      std::string("--gtest_filter=") + test->test_suite_name() + "." + test->name();
  std::string program = "alone";
  char* const arguments[] = {program.data(), filter.data(), nullptr};
  std::fflush(nullptr);
  pid_t child = 0;
  ASSERT_EQ(posix_spawn(&child, "/proc/self/exe", nullptr, nullptr, arguments, block.data()), 0);
  int status = -1;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  EXPECT_EQ(status, 0) << "the test failed in its own process, see above";
}

}  // namespace vramspan_test
