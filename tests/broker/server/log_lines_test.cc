// Which lines of a log are written, and that what was not is said later.
#include "tools/broker/server/log_lines.h"

#include <gmock/gmock.h>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace vramspan::broker {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ElementsAre;

class LogLinesTest : public testing::Test {
 protected:
  bool Write(std::string_view text) {
    if (full_) return false;
    written_.emplace_back(text);
    return true;
  }
  void Say(const std::string& text) {
    lines_.Say(text, now_, [this](std::string_view line) { return Write(line); });
  }
  void CatchUp() {
    lines_.CatchUp(now_, [this](std::string_view line) { return Write(line); });
  }
  std::vector<std::string> Taken() { return std::exchange(written_, {}); }

  LogLines lines_;
  Instant now_{seconds(5)};
  bool full_ = false;
  std::vector<std::string> written_;
};

TEST_F(LogLinesTest, TenASecondAreWrittenAndTheOthersCounted) {
  for (int i = 0; i < 13; ++i) Say("x");
  EXPECT_EQ(Taken().size(), 10u);
  EXPECT_EQ(lines_.lost(), 3u);
  now_ += milliseconds(999);
  Say("y");
  EXPECT_THAT(Taken(), ElementsAre());
  now_ += milliseconds(2);
  Say("z");
  EXPECT_THAT(Taken(), ElementsAre("4 lines were not written", "z"));
  EXPECT_FALSE(lines_.owes());
}

TEST_F(LogLinesTest, WhatIsOwedIsSaidThoughNothingElseIs) {
  full_ = true;
  Say("x");
  EXPECT_TRUE(lines_.owes());
  CatchUp();
  EXPECT_TRUE(lines_.owes());
  full_ = false;
  CatchUp();
  EXPECT_THAT(Taken(), ElementsAre("1 lines were lost, because nobody read them"));
  EXPECT_FALSE(lines_.owes());
  CatchUp();
  EXPECT_THAT(Taken(), ElementsAre());
}

// The notice has no room itself, and a second goes by: none of both counts is forgotten.
TEST_F(LogLinesTest, ANoticeThatHasNoRoomIsSaidLater) {
  for (int i = 0; i < 12; ++i) Say("x");
  Taken();
  full_ = true;
  now_ += seconds(2);
  Say("y");
  now_ += seconds(2);
  CatchUp();
  full_ = false;
  now_ += seconds(2);
  Say("z");
  EXPECT_THAT(Taken(), ElementsAre("1 lines were lost, because nobody read them",
                                   "2 lines were not written", "z"));
  EXPECT_FALSE(lines_.owes());
  EXPECT_EQ(lines_.lost(), 3u);
}

}  // namespace
}  // namespace vramspan::broker
