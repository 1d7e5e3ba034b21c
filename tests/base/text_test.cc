#include <gtest/gtest.h>

#include "runtime/base/clean_text.h"
#include "runtime/base/yes_no.h"

namespace vramspan {
namespace {

TEST(CleanText, IsOneLineThatOnlyShows) {
  EXPECT_EQ(CleanText("gr\xc3\xb6\xc3\x9f"
                      "e"),
            "gr\xc3\xb6\xc3\x9f"
            "e");
  EXPECT_EQ(CleanText("a\x1b[2J\n\r\tb\x7f"), "a\ufffd[2J\ufffd\ufffd\ufffdb\ufffd");
  EXPECT_EQ(CleanText("\xc2\x9b"
                      "1m"),
            "\ufffd1m")
      << "a control character of two bytes";
  EXPECT_EQ(CleanText("\xe2\x80\xae\xd8\x9c"), "\ufffd\ufffd") << "what turns text around";
  EXPECT_EQ(CleanText("\xff\xc3"), "\ufffd\ufffd") << "no UTF-8";
  EXPECT_EQ(CleanText("abcdef", 3), "abc\u2026");
  EXPECT_EQ(CleanText(""), "");
}

TEST(Repeated, IsCleanAndFitsALine) {
  EXPECT_EQ(Repeated("8Gib"), "8Gib");
  EXPECT_EQ(Repeated("\x1b]0;x\x07"), "\ufffd]0;x\ufffd");
  const std::string most(80, 'a');
  EXPECT_EQ(Repeated(most), most);
  EXPECT_EQ(Repeated(std::string(5000, 'a')), most + "\u2026");
}

TEST(ParseYesNo, TakesFourWordsForEachInAnyCase) {
  for (const char* yes : {"1", "yes", "YES", "On", "true", "True"})
    EXPECT_EQ(ParseYesNo(yes), true);
  for (const char* no : {"0", "no", "No", "OFF", "false", "fAlse"})
    EXPECT_EQ(ParseYesNo(no), false);
  for (const char* other : {"", "2", "y", "yes ", "maybe", "01", "n"}) {
    EXPECT_EQ(ParseYesNo(other), std::nullopt) << other;
  }
}

}  // namespace
}  // namespace vramspan
