#include "runtime/base/parameter_ranges.h"

#include <gmock/gmock.h>

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
  const ParameterCases cases = {{{0x1c, 4, 2}, {0xffc, 0, 0}, {0, 0x80000000, ~0u}},
                                {{0x264, 0, 0, 1}, {0x266, 1, ~0u, 2}},
                                {{0x1c, 7, 9}}};
  EXPECT_EQ(ParameterCasesText(cases),
            "1c:4-2,ffc:0-0,0:80000000-ffffffff/264.1:0-0,266.2:1-ffffffff/1c:7-9");
  EXPECT_EQ(ParseParameterCases(ParameterCasesText(cases)), cases);
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
                                 "1c:4-2,.1:0-0",
                                 "/",
                                 "1c:4-2/",
                                 "/1c:4-2",
                                 "1c:4-2//1c:4-2",
                                 "1c:4-2,/1c:4-2"}) {
    EXPECT_FALSE(ParseParameterCases(text).has_value()) << text;
  }
}

TEST(ParameterRangesTest, NoMoreThanTheMostAreRead) {
  std::string nine = "0:0-0", five = "0:0-0";
  for (int i = 1; i < 9; ++i) nine += ",0:0-0";
  for (int i = 1; i < 5; ++i) five += "/0:0-0";
  EXPECT_FALSE(ParseParameterCases(nine).has_value());
  EXPECT_EQ(ParseParameterCases(nine.substr(6))->front().size(), kMostParameterRanges);
  EXPECT_FALSE(ParseParameterCases(five).has_value());
  EXPECT_EQ(ParseParameterCases(five.substr(6))->size(), kMostParameterCases);
}

TEST(ParameterRangesTest, OneCaseIsEnough) {
  const ParameterCases cases = {{{0, 1, 1}, {4, 2, 2}}, {{8, 3, 3}}};
  const auto holds = [&cases](uint16_t one, uint16_t other) {
    return AnyHolds(cases, [=](const ParameterRange& r) { return r.at == one || r.at == other; });
  };
  EXPECT_TRUE(holds(0, 4) && holds(8, 8));
  EXPECT_FALSE(holds(0, 0) || holds(4, 4) || holds(12, 12));
}

TEST(ParameterRangesTest, AreSaidInPlainWords) {
  const auto said = [](uint32_t first, uint32_t last) {
    return ParameterCasesInWords({{{0x1c, first, last}}}).substr(sizeof("the word at byte 28 of"));
  };
  EXPECT_EQ(
      ParameterCasesInWords({{{0x1c, 4, 2}, {32, 0, 0, 1}}, {{34, 1, 2, 2}}}),
      "the word at byte 28 of its parameters is not 3 and the byte at 32 is 0 or the half word at "
      "byte 34 is 1 to 2");
  EXPECT_EQ(said(7, 7), "its parameters is 7");
  EXPECT_EQ(said(7, 9), "its parameters is 7 to 9");
  EXPECT_EQ(said(4, 0), "its parameters is not 1 to 3");
  EXPECT_EQ(said(1, ~0u), "its parameters is 1 to 4294967295");
  EXPECT_EQ(said(5, 4), "its parameters is anything");
}

TEST(ParameterRangesTest, BothHoldInWhateverOrder) {
  const ParameterCases a = {{{28, 4, 2}, {4, 0, 0}}, {{8, 1, 1}}}, b = {{{4, 1, 1}, {28, 4, 2}}};
  const ParameterCases both = {{{4, 1, 1}, {8, 1, 1}, {28, 4, 2}},
                               {{4, 0, 0}, {4, 1, 1}, {28, 4, 2}}};
  EXPECT_EQ(BothHold(a, b), BothHold(b, a));
  ASSERT_TRUE(BothHold(a, b).has_value());
  EXPECT_THAT(*BothHold(a, b), testing::UnorderedElementsAreArray(both));
  EXPECT_EQ(BothHold(b, b), BothHold(b, {}));
  const ParameterCases four = {
      {{0, 0, 0}}, {{4, 0, 0}}, {{8, 0, 0}}, {{12, 0, 0}, {16, 0, 0}, {20, 0, 0}}};
  EXPECT_EQ(BothHold(four, four), four);
  EXPECT_EQ(BothHold({}, {}), ParameterCases());
}

// What is left out makes it hold less often, and never more.
TEST(ParameterRangesTest, MoreThanCanBeSaidIsLeftOut) {
  ParameterCases many, more, one(1);
  for (uint16_t k = 0; k < 3; ++k) {
    many.push_back({{k, 0, 0, 1}});
    more.push_back({{static_cast<uint16_t>(16 + k), 0, 0, 1}});
  }
  for (uint16_t k = 0; k < 8; ++k) one[0].push_back({static_cast<uint16_t>(32 + k), 0, 0, 1});
  const std::optional<ParameterCases> both = BothHold(many, more);
  ASSERT_TRUE(both.has_value());
  EXPECT_THAT(*both, testing::SizeIs(kMostParameterCases));
  EXPECT_THAT(*both, testing::Each(testing::SizeIs(2)));
  EXPECT_EQ(BothHold(many, one), std::nullopt);
  EXPECT_EQ(BothHold(one, one), one);
}

}  // namespace
}  // namespace vramspan
