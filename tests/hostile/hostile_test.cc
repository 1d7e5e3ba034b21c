// Same as without vramspan: what a program writes, the code it ends with, and its messages but for
// vramspan's own.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <ostream>
#include <string>
#include <utility>

#include "tests/hostile/cases.h"
#include "tests/hostile/run_case.h"

namespace vramspan_test {

void PrintTo(const Case& c, std::ostream* out) { *out << c.setting << " " << c.program; }

namespace {

class Hostile : public testing::TestWithParam<Case> {};

TEST_P(Hostile, SameAsWithoutVramspan) {
  const Case& c = GetParam();
  const Said plain = RunCase(c, nullptr);
  // Killed after a minute, or its own checks failed.
  ASSERT_TRUE(plain.code != 137 && plain.code != 3) << c.program << ": " << plain.err;
  const int times = std::getenv("VRAMSPAN_NIGHTLY") != nullptr ? c.nightly : c.times;
  for (const std::string& options : c.ways) {
    for (int i = 0; i < times; ++i) {
      SCOPED_TRACE(c.setting + " vramspan run " + options + " -- " + c.program);
      const Said with = RunCase(c, &options);
      ASSERT_EQ(with.code, plain.code) << with.out << with.err;
      ASSERT_EQ(with.out, plain.out);
      ASSERT_EQ(with.err, plain.err);
    }
  }
}

// In the line at the end, where memory is short, and where nobody has said how it is to move. No
// other line but the first says more.
TEST(HostileSays, HowUntriedKernelsMayBeProven) {
  const Case many{.program = "many_threads 250 60"};
  const auto told = [&](const std::string& options) {
    const std::string ours = RunCase(many, &options).ours;
    const std::string text = "; nothing proves what the kernels of ";
    const size_t end = ours.find("\nvramspan: device memory first ran short ");
    const bool at_end = end != std::string::npos && ours.find(text, end) != std::string::npos;
    int lines = 0;
    const std::string line = "vramspan: ";
    for (size_t at = 0; (at = ours.find(line, at)) != std::string::npos; ++at) ++lines;
    return std::pair(lines, at_end);
  };
  EXPECT_EQ(told("--device-memory 16MiB"), std::pair(2, true));
  EXPECT_EQ(told("--device-memory 16MiB --overlap off"), std::pair(2, false));
  EXPECT_EQ(told("--device-memory 16MiB --quiet"), std::pair(0, false));
  EXPECT_EQ(told("--device-memory 128MiB"), std::pair(0, false));
}

// 400 threads and 24 blocks, of which eight fit: in the order in which they come, half of the 2,000
// launches would fetch theirs.
TEST(HostileThreads, ThatWaitAreServedTogether) {
  const std::string file =
      testing::TempDir() + "/many_threads." + std::to_string(getpid()) + ".json";
  const std::string options = "--overlap off --device-memory 16MiB --stats=" + file;
  const Said said = RunCase({.program = "many_threads 400 60"}, &options);
  EXPECT_EQ(said.out, "in time: 1\n");
  std::ifstream statistics(file);
  const std::string text(std::istreambuf_iterator<char>(statistics), {});
  std::remove(file.c_str());
  const std::string name = "\"fetches\":";
  const size_t at = text.find(name);
  ASSERT_NE(at, std::string::npos) << text;
  EXPECT_LT(std::atoi(text.c_str() + at + name.size()), 700);
}

std::string Name(const testing::TestParamInfo<Case>& info) {
  std::string name = info.param.program;
  for (char& c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  }
  return name + "_" + std::to_string(info.index);
}

INSTANTIATE_TEST_SUITE_P(Programs, Hostile, testing::ValuesIn(Cases()), Name);

}  // namespace
}  // namespace vramspan_test
