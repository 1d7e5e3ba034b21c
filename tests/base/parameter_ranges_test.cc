#include "runtime/base/parameter_ranges.h"

#include <gtest/gtest.h>

namespace vramspan {
namespace {

TEST(ParameterRangesTest, ARangeMayGoByWayOfZero) {
  const ParameterRange but_three = {0x1c, 4, 2};
  EXPECT_TRUE(but_three.Has(4) && but_three.Has(~0u) && but_three.Has(0) && but_three.Has(2));
  EXPECT_FALSE(but_three.Has(3));
  const ParameterRange one = {0x1c, 7, 7};
  EXPECT_TRUE(one.Has(7));
  EXPECT_FALSE(one.Has(6) || one.Has(8) || one.Has(0));
}

TEST(ParameterRangesTest, TextsAreReadBack) {
  const ParameterRanges ranges = {{0x1c, 4, 2}, {0xffc, 0, 0}, {0, 0x80000000, ~0u}};
  EXPECT_EQ(ParameterRangesText(ranges), "1c:4-2,ffc:0-0,0:80000000-ffffffff");
  EXPECT_EQ(ParseParameterRanges(ParameterRangesText(ranges)), ranges);
  const ParameterRanges shorter = {{0x264, 0, 0, 1}, {0x266, 1, ~0u, 2}, {0x1c, 4, 2}};
  EXPECT_EQ(ParameterRangesText(shorter), "264.1:0-0,266.2:1-ffffffff,1c:4-2");
  EXPECT_EQ(ParseParameterRanges(ParameterRangesText(shorter)), shorter);
}

TEST(ParameterRangesTest, OtherTextsAreNone) {
  for (const char* const text : {"",
                                 ",",
                                 "1c",
                                 "1c:",
                                 "1c:4",
                                 "1c:4-",
                                 "1c:4-2,",
                                 ",1c:4-2",
                                 "1c:4-2 ",
                                 " 1c:4-2",
                                 "1C:4-2",
                                 "01c:4-2",
                                 "0x1c:4-2",
                                 "+1c:4-2",
                                 "1c:-4-2",
                                 "1d:4-2",
                                 "10000:4-2",
                                 "1c:4-100000000",
                                 "1c:4-2;20:0-0",
                                 "1c:4-2-3",
                                 "1c.4:4-2",
                                 "1c.3:4-2",
                                 "1d.2:4-2",
                                 "1c.:4-2",
                                 "1c.01:4-2",
                                 "1c.1.1:4-2",
                                 ".1:4-2",
                                 "1c:4-2,.1:0-0"}) {
    EXPECT_FALSE(ParseParameterRanges(text).has_value()) << text;
  }
  std::string nine = "0:0-0";
  for (int i = 1; i < 9; ++i) nine += ",0:0-0";
  EXPECT_FALSE(ParseParameterRanges(nine).has_value());
  EXPECT_EQ(ParseParameterRanges(nine.substr(6))->size(), kMostParameterRanges);
}

TEST(ParameterRangesTest, AreSaidInPlainWords) {
  const auto said = [](uint32_t first, uint32_t last) {
    return ParameterRangesInWords({{0x1c, first, last}}).substr(sizeof("the word at byte 28 of"));
  };
  EXPECT_EQ(ParameterRangesInWords({{0x1c, 4, 2}, {32, 0, 0}}),
            "the word at byte 28 of its parameters is not 3 and that at byte 32 is 0");
  EXPECT_EQ(said(7, 7), "its parameters is 7");
  EXPECT_EQ(said(7, 9), "its parameters is 7 to 9");
  EXPECT_EQ(said(4, 0), "its parameters is not 1 to 3");
  EXPECT_EQ(said(1, ~0u), "its parameters is 1 to 4294967295");
  EXPECT_EQ(said(5, 4), "its parameters is anything");
}

TEST(ParameterRangesTest, AreJoinedInWhateverOrder) {
  const ParameterRanges a = {{28, 4, 2}, {4, 0, 0}}, b = {{4, 1, 1}, {28, 4, 2}};
  ParameterRanges ab = a, ba = b;
  AddParameterRanges(b, &ab);
  AddParameterRanges(a, &ba);
  EXPECT_EQ(ab, ba);
  EXPECT_EQ(ab, (ParameterRanges{{4, 0, 0}, {4, 1, 1}, {28, 4, 2}}));
}

}  // namespace
}  // namespace vramspan
