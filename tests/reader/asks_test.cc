#include "tools/reader/asks.h"

#include <absl/strings/str_cat.h>
#include <gmock/gmock.h>

#include "runtime/observe/trust_list.h"

namespace vramspan::reader {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr char kGood[] = "ask 90 0123456789abcdef _Z1fv";

std::vector<std::string> Names(AskLines* lines, std::string_view bytes) {
  std::vector<Ask> asks;
  lines->Add(bytes, &asks);
  std::vector<std::string> names;
  for (const Ask& ask : asks) names.push_back(ask.name);
  return names;
}

TEST(AsksTest, ALineNamesCodeAndKernel) {
  const std::optional<Ask> ask = ParseAsk(kGood);
  ASSERT_TRUE(ask.has_value());
  EXPECT_EQ(ask->code.gpu, 90u);
  EXPECT_EQ(ask->code.module, 0x0123456789abcdefu);
  EXPECT_EQ(ask->name, "_Z1fv");
  EXPECT_EQ(ParseAsk("ask 120 0123456789abcdef a name with spaces")->name, "a name with spaces");
  const std::string longest(TrustList::kMostName, 'f');
  EXPECT_TRUE(ParseAsk(absl::StrCat("ask 90 0123456789abcdef ", longest)).has_value());
}

TEST(AsksTest, AllElseIsNone) {
  const std::string too_long(TrustList::kMostName + 1, 'f');
  for (const std::string& line :
       {std::string(), std::string("ask"), std::string("ask 90 0123456789abcdef"),
        std::string("ask 90 0123456789abcdef "), std::string("ask 0 0123456789abcdef f"),
        std::string("ask -90 0123456789abcdef f"), std::string("ask  90 0123456789abcdef f"),
        std::string("ask 10000 0123456789abcdef f"), std::string("ask 90 0123456789ABCDEF f"),
        std::string("ask 90 0123456789abcde f"), std::string("ask 90 0000000000000000 f"),
        std::string("ask 90 ../../../../etc/ f"), std::string("Ask 90 0123456789abcdef f"),
        std::string("ask 90 0123456789abcdef f\rread"),
        std::string("ask 90 0123456789abcdef f\x1b"), std::string("ask 90 0123456789abcdef \xff"),
        absl::StrCat("ask 90 0123456789abcdef ", too_long)}) {
    EXPECT_FALSE(ParseAsk(line).has_value()) << line.substr(0, 60);
  }
}

TEST(AsksTest, LinesMayComeInPieces) {
  AskLines lines;
  const std::string line = absl::StrCat(kGood, "\n");
  for (const char c : line.substr(0, line.size() - 1)) {
    EXPECT_THAT(Names(&lines, std::string_view(&c, 1)), IsEmpty());
  }
  EXPECT_THAT(Names(&lines, "2\nnonsense\n" + line + "ask 90"), ElementsAre("_Z1fv2", "_Z1fv"));
  EXPECT_THAT(Names(&lines, " 0123456789abcdef g\n"), ElementsAre("g"));
}

TEST(AsksTest, OfALineThatIsTooLongNothingIsKept) {
  AskLines lines;
  const std::string piece(100'000, 'x');
  for (int i = 0; i < 10; ++i) EXPECT_THAT(Names(&lines, piece), IsEmpty());
  EXPECT_THAT(Names(&lines, absl::StrCat(kGood, "\n", kGood, "\n")), ElementsAre("_Z1fv"));
}

TEST(AsksTest, AFileHasABound) {
  AskLines lines;
  const std::string line = absl::StrCat(kGood, "\n");
  const std::string piece = std::string((size_t{1} << 20) - line.size(), '\n') + line;
  size_t got = 0;
  for (size_t i = 0; i < 20; ++i) got += Names(&lines, piece).size();
  EXPECT_EQ(got, 16u);
  EXPECT_EQ(lines.taken(), AskLines::kMostBytes);
}

}  // namespace
}  // namespace vramspan::reader
