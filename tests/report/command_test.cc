// `vramspan report` as a user runs it: exit codes, messages, and what it does not overwrite.
#include <absl/strings/str_cat.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

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
  EXPECT_THAT(said_, HasSubstr(output_ + ": the file exists; --force replaces it"));
  EXPECT_EQ(ReadWhole(output_), "mine");
  EXPECT_EQ(Report(usual_ + " --force"), 0);
  EXPECT_THAT(ReadWhole(output_), HasSubstr("<!doctype html>"));
}

TEST_F(ReportCommand, ForcedItStillLeavesWhatItReads) {
  EXPECT_EQ(Report(absl::StrCat(input_, " --force -o ", TestFolder(), "/./replay.json")), 1);
  EXPECT_THAT(said_,
              HasSubstr("replay.json: the file is also what is read; write to another file"));
  EXPECT_EQ(ReadWhole(input_), SmallReplay().dump());
}

TEST_F(ReportCommand, BadDataLeavesNoPageAndIsNamed) {
  WriteWhole(input_, "{\"tool\": \"vramspan replay\", \"version\": 1, \"runs\": [7]}");
  EXPECT_EQ(Report(usual_), 1);
  EXPECT_THAT(said_, HasSubstr(input_ + ": runs[0]: it is not an object"));
  WriteWhole(input_, "{\"tool\": NaN}");
  EXPECT_EQ(Report(usual_), 1);
  EXPECT_THAT(said_, HasSubstr(input_ + ": it is not valid JSON at byte"));
  WriteWhole(input_, "\n");
  EXPECT_EQ(Report(usual_), 1);
  EXPECT_THAT(said_, HasSubstr(input_ + ": it is empty; `vramspan replay --format json`"));
  std::filesystem::remove(input_);
  EXPECT_EQ(Report(usual_), 1);
  EXPECT_THAT(said_, HasSubstr(input_));
  EXPECT_FALSE(Written());
}

TEST_F(ReportCommand, SaysWhatItCannotWrite) {
  EXPECT_EQ(Report(absl::StrCat(input_, " -o ", TestFolder(), "/none/page.html")), 1);
  EXPECT_THAT(said_, HasSubstr("/none/page.html: there is no folder " + TestFolder() + "/none"));
  EXPECT_EQ(Report(absl::StrCat(input_, " -o ", TestFolder())), 1);
  EXPECT_THAT(said_, HasSubstr(TestFolder() + ": it is a folder; name a file in it"));
  EXPECT_EQ(Report(absl::StrCat(input_, " -o /dev/full --force")), 1);
  EXPECT_THAT(said_, HasSubstr("/dev/full: the file cannot be written: No space left on device"));
}

TEST_F(ReportCommand, ReplaysATraceFirst) {
  EXPECT_EQ(Report(absl::StrCat("synthetic:loop,layers=8,passes=8,mib=64 -o ", output_)), 0);
  const std::string page = ReadWhole(output_);
  constexpr std::string_view kStart = "<script type=\"application/json\" id=\"data\">";
  const size_t begin = page.find(kStart) + kStart.size();
  const nlohmann::json data =
      nlohmann::json::parse(page.substr(begin, page.find("</script>", begin) - begin));
  const nlohmann::json& one = data.at("cases").at(0);
  EXPECT_EQ(one.at("runs").size(), 11u * 3 * 6);
  EXPECT_EQ(one.at("curves").size() % 3, 0u);
  EXPECT_GE(one.at("curves").size(), 6u);
  EXPECT_TRUE(one.at("runs").at(0).at("round_ms").is_number()) << "eight layers come again";
  size_t timelines = 0;
  for (const nlohmann::json& run : one.at("runs")) timelines += run.contains("timeline");
  EXPECT_EQ(timelines, 6u);
  EXPECT_TRUE(one.at("runs").at(one.at("focus").get<size_t>()).contains("timeline"));
}

TEST_F(ReportCommand, SaysWhatIsWrongWithATrace) {
  WriteWhole(input_, "no trace at all");
  EXPECT_EQ(Report(usual_), 1);
  EXPECT_THAT(said_, HasSubstr(input_));
  EXPECT_EQ(Report(absl::StrCat("synthetic:nothing -o ", output_)), 2);
  EXPECT_EQ(Report(absl::StrCat("synthetic:loop --prices ", input_, " -o ", output_)), 1);
  EXPECT_THAT(said_, HasSubstr(input_));
  EXPECT_FALSE(Written());
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
