// A thousand odd programs, in parts that run beside each other (odd_programs_long runs 10^5, in
// --nightly). And that their kernels do hide addresses: with `safe` programs go wrong.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <string>

namespace {

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr int kShare = 10;
#else
constexpr int kShare = 1;
#endif
constexpr int kParts = 4;
constexpr int kRace = 66;  // Its exit code where there is one.
constexpr int kPrograms = 1000 / kParts / kShare;

// Its exit code, or -1.
int CodeOf(const std::string& arguments, const std::string& output = "") {
  const std::string command = "ASAN_OPTIONS=detect_leaks=0 exec timeout -s KILL 600 '" ODD_PROGRAMS
                              "' " +
                              arguments + " </dev/null " + output;
  const int status = std::system(command.c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

class OddPrograms : public testing::TestWithParam<int> {};

TEST_P(OddPrograms, AreRight) {
  const int seed = 1 + GetParam() * kPrograms;
  EXPECT_EQ(CodeOf("--seed " + std::to_string(seed) + " --programs " + std::to_string(kPrograms)),
            0);
}

INSTANTIATE_TEST_SUITE_P(Parts, OddPrograms, testing::Range(0, kParts));

// Whoever trusts all code alike runs into unmapped memory, in every second program.
TEST(OddProgramsHide, WhatSafeDoesNotFind) {
  constexpr int kTried = 24, kLeast = 5;
  int wrong = 0;
  for (int seed = 1; seed <= kTried && wrong < kLeast; ++seed) {
    const int code = CodeOf("--overlap safe --seed " + std::to_string(seed), ">/dev/null 2>&1");
    // ThreadSanitizer sees memory move under a kernel.
    const bool is_wrong = code == 1 || code == kRace;
    EXPECT_TRUE(code == 0 || is_wrong) << "seed " << seed << ": " << code;
    wrong += is_wrong ? 1 : 0;
  }
  EXPECT_GE(wrong, kLeast);
}

}  // namespace
