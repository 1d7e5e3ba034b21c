// `vramspan report` as a user runs it: exit codes, messages, and what it does not overwrite.
#include <absl/strings/str_cat.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "tests/report/sample_replay.h"
#include "tests/report/shell.h"

namespace vramspan::replay {
namespace {

using testing::HasSubstr;

class ReportCommand : public testing::Test {
 protected:
  void SetUp() override {
    WriteWhole(input_, SmallReplay().dump());
    std::filesystem::remove(output_);
  }

  int Report(const std::string& arguments) {
    const std::string log = TestFolder() + "/log.txt";
    const int exit =
        Shell(absl::StrCat("'", VRAMSPAN_BINARY, "' report ", arguments, " >'", log, "' 2>&1"));
    said_ = ReadWhole(log);
    return exit;
  }
  bool Written() const { return std::filesystem::exists(output_); }

  const std::string input_ = TestFolder() + "/replay.json";
  const std::string output_ = TestFolder() + "/page.html";
  const std::string usual_ = absl::StrCat(input_, " -o ", output_);
  std::string said_;
};

TEST_F(ReportCommand, WritesThePageAndSaysNothing) {
  EXPECT_EQ(Report(usual_ + " --title 'Half the card'"), 0);
  EXPECT_EQ(said_, "");
  EXPECT_THAT(ReadWhole(output_), HasSubstr("<title>Half the card</title>"));
}

TEST_F(ReportCommand, OverwritesOnlyWhenForced) {
  WriteWhole(output_, "mine");
  EXPECT_EQ(Report(usual_), 1);
  EXPECT_THAT(said_, HasSubstr(output_ + " is there already; --force overwrites it"));
  EXPECT_EQ(ReadWhole(output_), "mine");
  EXPECT_EQ(Report(usual_ + " --force"), 0);
  EXPECT_THAT(ReadWhole(output_), HasSubstr("<!doctype html>"));
}

TEST_F(ReportCommand, BadDataLeavesNoPageAndIsNamed) {
  WriteWhole(input_, "{\"tool\": \"vramspan replay\", \"version\": 1, \"runs\": [7]}");
  EXPECT_EQ(Report(usual_), 1);
  EXPECT_THAT(said_, HasSubstr(input_ + ": runs[0]: not an object"));
  WriteWhole(input_, "{\"tool\": NaN}");
  EXPECT_EQ(Report(usual_), 1);
  EXPECT_THAT(said_, HasSubstr(input_ + ": not valid JSON at byte"));
  std::filesystem::remove(input_);
  EXPECT_EQ(Report(usual_), 1);
  EXPECT_THAT(said_, HasSubstr(input_));
  EXPECT_FALSE(Written());
}

TEST_F(ReportCommand, SaysWhatItCannotWrite) {
  EXPECT_EQ(Report(absl::StrCat(input_, " -o ", TestFolder(), "/none/page.html")), 1);
  EXPECT_THAT(said_, HasSubstr("/none/page.html: cannot be written: No such file or directory"));
  EXPECT_EQ(Report(absl::StrCat(input_, " -o /dev/full --force")), 1);
  EXPECT_THAT(said_, HasSubstr("/dev/full: cannot be written: No space left on device"));
}

TEST_F(ReportCommand, UsageIsTwo) {
  EXPECT_EQ(Report(""), 2);
  EXPECT_EQ(Report(input_), 2);
  EXPECT_EQ(Report(usual_ + " --no-such-option"), 2);
  EXPECT_EQ(Report(usual_ + " more"), 2);
  EXPECT_FALSE(Written());
}

}  // namespace
}  // namespace vramspan::replay
