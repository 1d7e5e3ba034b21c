#include "runtime/observe/trust_list.h"

#include <absl/strings/numbers.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_split.h>
#include <gmock/gmock.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace vramspan {
namespace {

using testing::HasSubstr;

constexpr uint64_t kModule = 0x123456789abcdef0;

class TrustListTest : public testing::Test {
 protected:
  Status Add(const std::string& lines) {
    return list_.Add("some.trust", "vramspan-trust 1\n" + lines);
  }
  Trust Of(std::string_view name, uint64_t module = 0) {
    const auto verdict = list_.Of(name, module);
    why_ = verdict.has_value() ? verdict->why : "nothing";
    return verdict.has_value() ? verdict->trust : Trust::kUntried;
  }

  TrustList list_;
  std::string why_;
};

TEST_F(TrustListTest, ANameIsPlausibleByItsPattern) {
  ASSERT_TRUE(Add("of PyTorch 2.9\nname _ZN2at6native*\nname *gemm*_tn\n").ok());
  EXPECT_EQ(Of("_ZN2at6native29vectorized"), Trust::kPlausible);
  EXPECT_THAT(why_, HasSubstr("PyTorch 2.9"));
  EXPECT_EQ(Of("ampere_sgemm_128x64_tn"), Trust::kPlausible);
  EXPECT_EQ(Of("ampere_sgemm_128x64_tnx"), Trust::kUntried);
  EXPECT_EQ(why_, "nothing");
  EXPECT_EQ(Of("x_ZN2at6native"), Trust::kUntried);
}

TEST_F(TrustListTest, AnExceptionCountsBeforeAllPatterns) {
  ASSERT_TRUE(Add("name _ZN7cutlass*\nnot *GroupProblem*\nname *GroupProblemShape*\n").ok());
  EXPECT_EQ(Of("_ZN7cutlass6KernelI"), Trust::kPlausible);
  EXPECT_EQ(Of("_ZN7cutlass6KernelI17GroupProblemShapeE"), Trust::kUntried);
  EXPECT_THAT(why_, HasSubstr("excepted"));
}

TEST_F(TrustListTest, CodeIsProvenByItsModuleAndEnoughLaunches) {
  ASSERT_TRUE(Add("kernel 8 3 25 123456789abcdef0 f(int*)\nkernel 7 3 0 123456789abcdef0 few\n"
                  "kernel 8 2 0 123456789abcdef0 same\nkernel 80 30 0 - unknown\n")
                  .ok());
  EXPECT_EQ(Of("f(int*)", kModule), Trust::kProven);
  EXPECT_THAT(why_, HasSubstr("8 launches of 3"));
  EXPECT_EQ(Of("f(int*)", kModule + 1), Trust::kPlausible) << "other code of the name";
  EXPECT_EQ(Of("f(int*)"), Trust::kPlausible);
  EXPECT_EQ(Of("few", kModule), Trust::kPlausible);
  EXPECT_EQ(Of("same", kModule), Trust::kPlausible);
  EXPECT_EQ(Of("unknown", kModule), Trust::kPlausible);
  EXPECT_EQ(Of("unknown"), Trust::kPlausible) << "no module is like no other";
}

TEST_F(TrustListTest, CodeStaysInArraysWhereThatWasShown) {
  ASSERT_TRUE(Add("kernel 8 3 25 123456789abcdef0 f\narrays 8 3 25 123456789abcdef0 f\n"
                  "kernel 8 3 25 123456789abcdef0 g\narrays 8 2 25 123456789abcdef0 g\n"
                  "kernel 8 3 25 123456789abcdef0 h\narrays 0 0 64 0000000000000007 h\n"
                  "arrays 8 3 25 123456789abcdef0 h\narrays 8 3 25 123456789abcdef0 alone\n")
                  .ok());
  EXPECT_EQ(Of("f", kModule), Trust::kArrays);
  EXPECT_EQ(Of("f", kModule + 1), Trust::kPlausible) << "other code of the name";
  EXPECT_EQ(Of("g", kModule), Trust::kProven) << "too few sets";
  EXPECT_EQ(Of("h", kModule), Trust::kProven) << "other code of the name went beyond";
  EXPECT_EQ(Of("alone", kModule), Trust::kArrays);
  EXPECT_EQ(list_.proven(), 4u);
  EXPECT_TRUE(list_.arrays());
  EXPECT_FALSE(BuiltInTrust().arrays()) << "then copies are looked at in every program";
}

TEST_F(TrustListTest, LaunchesAreProvenByOthersThatWereGivenTheSame) {
  constexpr char kGiven[] = "00000000000000aa 123456789abcdef0";
  ASSERT_TRUE(Add(absl::StrCat("kernel 9 2 9 123456789abcdef0 f\ngiven-kernel 8 2 9 ", kGiven,
                               " f\n", "given-kernel 7 2 9 00000000000000bb 123456789abcdef0 f\n",
                               "given-arrays 8 2 9 ", kGiven, " g\n", "given-arrays 8 2 9 ", kGiven,
                               " h\narrays 0 0 64 0000000000000007 h\n", "given-kernel 8 2 64 ",
                               kGiven, " i\n", "given-kernel 8 2 9 ", kGiven,
                               " j\nkernel 0 0 64 123456789abcdef0 j\n"))
                  .ok());
  const auto of = [&](const char* name, uint64_t given, uint64_t module = kModule) {
    const auto verdict = list_.Of(name, module);
    return verdict.has_value() ? verdict->Of(given) : Trust::kUntried;
  };
  EXPECT_EQ(list_.proven(), 0u) << "whatever they are given";
  EXPECT_EQ(of("f", 0xaa), Trust::kProven);
  EXPECT_EQ(of("f", 0xbb), Trust::kPlausible) << "of too few";
  EXPECT_EQ(of("f", 0xcc), Trust::kPlausible) << "given something else";
  EXPECT_EQ(of("f", 0xaa, kModule + 1), Trust::kPlausible) << "other code of the name";
  EXPECT_EQ(of("g", 0xaa), Trust::kArrays);
  EXPECT_EQ(of("h", 0xaa), Trust::kProven) << "code of its name went beyond arrays";
  EXPECT_EQ(of("i", 0xaa), Trust::kUntried) << "it missed";
  EXPECT_EQ(of("j", 0xaa), Trust::kUntried) << "it missed in another launch";
  EXPECT_EQ(Of("f", kModule), Trust::kPlausible);
  EXPECT_THAT(why_, HasSubstr("; of its launches 1 kind is proven"));
}

TEST(FirstThenSecondTest, ThatTheFirstHasSeenTooLittleSaysNothingAgainstTheSecond) {
  const TrustVerdict untried{Trust::kUntried, "1"},
      plausible{Trust::kPlausible, "2", {{5, Trust::kProven}}}, proven{Trust::kProven, "3"},
      arrays{Trust::kArrays, "4"};
  EXPECT_EQ(FirstThenSecond(std::nullopt, std::nullopt).trust, Trust::kUntried);
  EXPECT_EQ(FirstThenSecond(std::nullopt, proven).why, "3");
  EXPECT_EQ(FirstThenSecond(plausible, std::nullopt).why, "2");
  const TrustVerdict both = FirstThenSecond(plausible, proven);
  EXPECT_EQ(both.why, "3");
  EXPECT_EQ(both.given.size(), 1u);
  EXPECT_EQ(FirstThenSecond(untried, proven).why, "1") << "it has seen a miss";
  EXPECT_EQ(FirstThenSecond(proven, arrays).why, "3") << "it may have seen it go beyond arrays";
  EXPECT_EQ(FirstThenSecond(plausible, untried).why, "2");
}

TEST_F(TrustListTest, CodeThatTookWhatWasNotInferredIsNotTrusted) {
  ASSERT_TRUE(Add("name *\nkernel 9 9 64 123456789abcdef0 f\nkernel 9 9 0 0000000000000007 f\n"
                  "kernel 9 9 0 123456789abcdef0 f\n")
                  .ok());
  EXPECT_EQ(Of("f", kModule), Trust::kUntried) << "one audit that misses is enough";
  EXPECT_THAT(why_, HasSubstr("64 sectors"));
  EXPECT_EQ(Of("f", 7), Trust::kProven) << "this code has not";
  EXPECT_EQ(Of("f", 8), Trust::kUntried);
  EXPECT_EQ(Of("f"), Trust::kUntried);
}

TEST_F(TrustListTest, CodeThatWasReadIsProvenByItsModule) {
  ASSERT_TRUE(Add("of libx.so\nread 123456789abcdef0 f(a b)\n").ok());
  EXPECT_EQ(Of("f(a b)", kModule), Trust::kProven);
  EXPECT_EQ(why_, "read, it takes no address from memory: libx.so");
  EXPECT_EQ(Of("f(a b)", kModule + 1), Trust::kUntried) << "other code says nothing of this";
  EXPECT_EQ(Of("f(a b)"), Trust::kUntried) << "no module is like no other";
  EXPECT_EQ(Of("g", kModule), Trust::kUntried);
  EXPECT_EQ(list_.proven(), 1u);
  EXPECT_FALSE(list_.arrays());
}

TEST_F(TrustListTest, AnImageThatWasReadProvesAllThatIsNotExcepted) {
  ASSERT_TRUE(Add("unread 123456789abcdef0 g\nimage 123456789abcdef0 10\n"
                  "unread 0000000000000007 f\nunread 123456789abcdef0 h\n"
                  "read 123456789abcdef0 h\nread 123456789abcdef0 f\n")
                  .ok());
  EXPECT_EQ(Of("f", kModule), Trust::kProven);
  EXPECT_EQ(Of("any", kModule), Trust::kProven);
  EXPECT_EQ(Of("g", kModule), Trust::kUntried);
  EXPECT_EQ(Of("h", kModule), Trust::kProven) << "by a line of its own";
  EXPECT_EQ(Of("f", 7), Trust::kUntried) << "that image has no line";
  EXPECT_EQ(Of("f"), Trust::kUntried);
  EXPECT_EQ(list_.proven(), 9u);
  ASSERT_TRUE(Add("unread 123456789abcdef0 any\n").ok());
  EXPECT_EQ(Of("any", kModule), Trust::kUntried) << "what one file doubts another does not prove";
  ASSERT_TRUE(Add("image 0000000000000005 99999999999999999999\n").code() != absl::StatusCode::kOk);
  ASSERT_TRUE(Add("image 0000000000000005 18446744073709551615\n").ok());
  EXPECT_EQ(list_.proven(), ~uint64_t{0}) << "no more than can be counted";
}

TEST_F(TrustListTest, WhatAnAuditSawOfTheCodeCountsBeforeItsReading) {
  constexpr char kAll[] = "image 123456789abcdef0 9\nimage 0000000000000007 9\n";
  ASSERT_TRUE(Add(absl::StrCat(kAll, "kernel 9 9 64 123456789abcdef0 missed\nnot excepted\n",
                               "kernel 9 9 9 123456789abcdef0 audited\n",
                               "arrays 9 9 9 123456789abcdef0 arrays\n",
                               "kernel 2 2 9 123456789abcdef0 few\n"))
                  .ok());
  EXPECT_EQ(Of("missed", kModule), Trust::kUntried);
  EXPECT_EQ(Of("missed", 7), Trust::kProven) << "other code of the name missed";
  EXPECT_EQ(Of("missed", 8), Trust::kUntried) << "this was not read";
  EXPECT_EQ(Of("audited", kModule), Trust::kProven);
  EXPECT_THAT(why_, HasSubstr("audited, 9 launches"));
  EXPECT_EQ(Of("arrays", kModule), Trust::kArrays);
  EXPECT_EQ(Of("few", kModule), Trust::kProven);
  EXPECT_THAT(why_, HasSubstr("read"));
  EXPECT_EQ(Of("excepted", kModule), Trust::kProven) << "a name says less";
  EXPECT_EQ(list_.proven(), 18u) << "what was read and seen is one code";
}

TEST_F(TrustListTest, CodeThatWasReadOnConditionIsProvenForSomeLaunches) {
  ASSERT_TRUE(Add("of libx.so\nread-when 1c:4-2 123456789abcdef0 f(a b)\nname f*\n").ok());
  EXPECT_EQ(Of("f(a b)", kModule), Trust::kPlausible) << "whatever it is given";
  const TrustVerdict verdict = *list_.Of("f(a b)", kModule);
  ASSERT_EQ(verdict.when.size(), 1u);
  EXPECT_EQ(verdict.when[0].ranges, (ParameterCases{{{0x1c, 4, 2}}}));
  EXPECT_EQ(verdict.when[0].source, "libx.so");
  EXPECT_FALSE(verdict.only_when || verdict.read);
  EXPECT_TRUE(list_.Of("f(a b)", kModule + 1)->when.empty()) << "other code";
  EXPECT_TRUE(list_.Of("f(a b)", 0)->when.empty());
  EXPECT_FALSE(list_.Of("g", kModule).has_value());
  EXPECT_EQ(list_.proven(), 0u);
  ASSERT_TRUE(Add("read-when 0:0-0,1c:4-2 123456789abcdef0 h\n").ok());
  EXPECT_EQ(Of("h", kModule), Trust::kUntried);
  EXPECT_TRUE(list_.Of("h", kModule)->only_when);
  EXPECT_EQ(why_,
            "read, it takes no address from memory when the word at byte 0 of its parameters is 0 "
            "and the word at byte 28 is not 3: some.trust");
}

TEST_F(TrustListTest, AnyOfAFewConditionsProves) {
  for (const char* const when : {"0:1-1", "0:2-2", "0:1-1", "4:1-1,0:1-1", "0:3-3", "0:4-4"}) {
    ASSERT_TRUE(Add(absl::StrCat("read-when ", when, " 123456789abcdef0 f\n")).ok());
  }
  std::vector<std::string> texts;
  const TrustVerdict verdict = *list_.Of("f", kModule);
  for (const auto& when : verdict.when) {
    texts.push_back(ParameterCasesText(when.ranges));
  }
  EXPECT_THAT(texts, testing::ElementsAre("0:1-1", "0:2-2", "4:1-1,0:1-1", "0:3-3"));
}

TEST_F(TrustListTest, WhatHoldsAlwaysCountsBeforeConditions) {
  ASSERT_TRUE(Add("read-when 1c:4-2 123456789abcdef0 f\nread 123456789abcdef0 f\n"
                  "read-when 1c:4-2 123456789abcdef0 g\nimage 123456789abcdef0 9\n"
                  "read-when 1c:4-2 123456789abcdef0 h\nunread 123456789abcdef0 h\n")
                  .ok());
  for (const char* const name : {"f", "g"}) {
    EXPECT_EQ(Of(name, kModule), Trust::kProven);
    EXPECT_TRUE(list_.Of(name, kModule)->when.empty());
  }
  EXPECT_EQ(Of("h", kModule), Trust::kUntried) << "the image's line does not cover it";
  EXPECT_EQ(list_.Of("h", kModule)->when.size(), 1u) << "nor does the other one void it";
  EXPECT_EQ(list_.proven(), 8u);
}

class ReadWhenVerdictTest : public testing::Test {
 protected:
  static constexpr char kWhen[] = "read-when 1c:4-2 000000000000000a f\n",
                        kRead[] = "read 000000000000000a f\n",
                        kMissed[] = "kernel 0 0 99 000000000000000a f\n",
                        kNamesake[] = "kernel 0 0 99 000000000000000b f\n", kNot[] = "not f\n",
                        kAudited[] = "kernel 9 9 9 000000000000000a f\n";

  static TrustVerdict Of(const std::string& user, const std::string& built_in) {
    TrustList lists[2];
    EXPECT_TRUE(lists[0].Add("mine", "vramspan-trust 1\n" + user).ok());
    EXPECT_TRUE(lists[1].Add("theirs", "vramspan-trust 1\n" + built_in).ok());
    return OfUserThenBuiltIn(lists[0].Of("f", 10), lists[1].Of("f", 10));
  }
  static size_t Conditions(const std::string& user, const std::string& built_in) {
    return Of(user, built_in).when.size();
  }
};

TEST_F(ReadWhenVerdictTest, WhatIsBuiltInAsMissingVoidsNoCondition) {
  for (const std::string user : {kWhen, ""}) {
    const std::string built_in = user.empty() ? kWhen : "";
    EXPECT_EQ(Conditions(user, built_in), 1u);
    EXPECT_EQ(Conditions(user, built_in + kMissed), 1u);
    EXPECT_EQ(Conditions(user, built_in + kNamesake), 1u);
    EXPECT_EQ(Conditions(user, built_in + kNot), 1u);
  }
  const TrustVerdict verdict = Of(kWhen, kMissed);
  EXPECT_EQ(verdict.trust, Trust::kUntried);
  EXPECT_TRUE(verdict.missed);
  EXPECT_FALSE(verdict.user_missed);
  EXPECT_EQ(verdict.why,
            "read, it takes no address from memory when the word at byte 28 of its parameters is "
            "not 3: mine; else an audit saw it take 99 sectors of memory that was not inferred: "
            "theirs");
  EXPECT_EQ(Of(kWhen, "name f\n").trust, Trust::kPlausible) << "of other launches";
  EXPECT_EQ(Of(kWhen, "").why.find("; else"), std::string::npos);
}

TEST_F(ReadWhenVerdictTest, WhatTheUsersFilesSawVoidsIt) {
  EXPECT_EQ(Conditions(std::string(kWhen) + kMissed, ""), 0u);
  EXPECT_EQ(Conditions(kMissed, kWhen), 0u);
  EXPECT_TRUE(Of(kMissed, kWhen).user_missed);
  EXPECT_EQ(Conditions(kNot, kWhen), 0u);
  EXPECT_EQ(Conditions(std::string(kNot) + kNamesake, kWhen), 0u);
  // As it is with readings: these are of this code, and a name says less.
  EXPECT_EQ(Conditions(std::string(kWhen) + kNot, ""), 1u);
  EXPECT_EQ(Conditions(std::string(kWhen) + kNamesake, ""), 1u);
  EXPECT_EQ(Conditions(kNamesake, kWhen), 1u);
}

TEST_F(ReadWhenVerdictTest, WhatIsProvenNeedsNone) {
  EXPECT_EQ(Of(kWhen, kAudited).trust, Trust::kProven);
  EXPECT_EQ(Conditions(kWhen, kAudited), 0u);
  EXPECT_EQ(Conditions(kAudited, kWhen), 0u);
  EXPECT_EQ(Of(kWhen, kRead).trust, Trust::kProven);
  // What was read to hold always, and was seen to miss, was not read well.
  const TrustVerdict verdict = Of(kRead, std::string(kMissed) + kWhen);
  EXPECT_EQ(verdict.trust, Trust::kUntried);
  EXPECT_TRUE(verdict.when.empty());
}

TEST_F(ReadWhenVerdictTest, BothTogetherHaveAFew) {
  const auto several = [](int first, int count) {
    std::string lines;
    for (int i = first; i < first + count; ++i) {
      absl::StrAppend(&lines, "read-when 0:", i, "-", i, " 000000000000000a f\n");
    }
    return lines;
  };
  EXPECT_EQ(Conditions(several(0, 2), several(0, 2)), 2u);
  EXPECT_EQ(Conditions(several(0, 3), several(5, 3)), Readings::kMostWhen);
}

TEST(ReadingOfKernelTest, TakesWhatIsWritten) {
  const ParameterCases when = {{{0x1c, 4, 2}, {0x20, 0, 7}}, {{0x24, 1, 1, 1}}};
  EXPECT_EQ(ReadLine(kModule, "f(a b)", when),
            "read-when 1c:4-2,20:0-7/24.1:1-1 123456789abcdef0 f(a b)\n");
  const auto read =
      ParseReadingOfKernel("read-when 1c:4-2,20:0-7/24.1:1-1 123456789abcdef0 f(a b)");
  ASSERT_TRUE(read.has_value());
  EXPECT_TRUE(read->proven);
  EXPECT_EQ(read->when, when);
  EXPECT_EQ(read->module, kModule);
  EXPECT_EQ(read->name, "f(a b)");
  EXPECT_TRUE(ParseReadingOfKernel("read 123456789abcdef0 f")->when.empty());
  EXPECT_FALSE(ParseReadingOfKernel("unread 123456789abcdef0 f")->proven);
  std::string nine = "0:0-0";
  for (int i = 1; i < 9; ++i) nine += ",0:0-0";
  for (const std::string& line :
       {std::string("read-when"), std::string("read-when "), std::string("read-when 1c:4-2"),
        std::string("read-when 123456789abcdef0 f"), std::string("read-when 1c:4-2 f"),
        std::string("read-when 1c:4-2 123456789abcdef0"),
        std::string("read-when 1c:4-2 123456789abcdef0 "),
        std::string("read-when 1c:4-2 0000000000000000 f"),
        std::string("read-when  123456789abcdef0 f"),
        std::string("read-when 1x:4-2 123456789abcdef0 f"),
        std::string("read 1c:4-2 123456789abcdef0 f"),
        std::string("unread-when 1c:4-2 123456789abcdef0 f"), std::string("read"), std::string(),
        "read-when " + nine + " 123456789abcdef0 f"}) {
    EXPECT_FALSE(ParseReadingOfKernel(line).has_value()) << line;
  }
}

TEST(FirstThenSecondTest, AReadingCountsBeforeOtherCodeOfTheNameAlone) {
  const auto list = [](const char* lines) {
    auto made = std::make_unique<TrustList>();
    EXPECT_TRUE(made->Add("x", absl::StrCat("vramspan-trust 1\n", lines)).ok());
    return made;
  };
  const auto read = list("read 000000000000000a f\n"),
             missed = list("kernel 0 0 99 000000000000000a f\n"),
             other = list("kernel 0 0 99 000000000000000b f\n"), excepted = list("not f\n"),
             audited = list("kernel 9 9 9 000000000000000a f\n"),
             arrays = list("arrays 9 9 9 000000000000000a f\n");
  const auto of = [](const auto& first, const auto& second) {
    return FirstThenSecond(first->Of("f", 10), second->Of("f", 10)).trust;
  };
  EXPECT_EQ(of(read, missed), Trust::kUntried);
  EXPECT_EQ(of(missed, read), Trust::kUntried);
  EXPECT_EQ(of(read, other), Trust::kProven);
  EXPECT_EQ(of(other, read), Trust::kProven);
  EXPECT_EQ(of(read, excepted), Trust::kProven);
  EXPECT_EQ(of(excepted, read), Trust::kUntried) << "the user said so";
  EXPECT_EQ(of(read, audited), Trust::kProven);
  EXPECT_EQ(of(read, arrays), Trust::kArrays);
  EXPECT_EQ(of(other, audited), Trust::kUntried) << "as it was before there were readings";
}

TEST_F(TrustListTest, SaysWhichLineIsWrongAndAddsNothing) {
  const auto wrong = [&](const std::string& lines, const std::string& why) {
    const Status added = Add("name good*\n" + lines);
    EXPECT_THAT(added.message(), HasSubstr("some.trust, line 3: " + why)) << lines;
    EXPECT_EQ(Of("good"), Trust::kUntried);
    EXPECT_EQ(list_.size(), 0u);
  };
  wrong("kernel 1 2 f\n", "launches");
  wrong("kernel 1 2 -3 - f\n", "launches");
  wrong("kernel 1 2 99999999999999999999999 - f\n", "launches");
  wrong("kernel 1 2 3 123 f\n", "a module");
  wrong("kernel 1 2 3 0000000000000000 f\n", "a module");
  wrong("kernel 1 2 3 g23456789abcdef0 f\n", "a module");
  wrong("kernel 1 2 3 -\n", "a name");
  wrong("given-kernel 1 2 3 - f\n", "what launches are given");
  wrong("given-kernel 1 2 3 0000000000000000 - f\n", "what launches are given");
  wrong("given-arrays 1 2 3 00000000000000aa f\n", "a module");
  wrong("given-name f\n", "given-kernel");
  wrong("kernel 1 2 3 - " + std::string(5000, 'x') + "\n", "a name");
  wrong("name\n", "a text");
  wrong("read - f\n", "a module");
  wrong("read 0000000000000000 f\n", "a module");
  wrong("read 123456789abcdef0 \n", "a name");
  wrong("unread 123456789abcdef0 " + std::string(5000, 'x') + "\n", "a name");
  wrong("image 123456789abcdef0\n", "kernels");
  wrong("image 123456789abcdef0 -1\n", "kernels");
  wrong("image 123456789abcdef0 5 f\n", "kernels");
  wrong("given-read 123456789abcdef0 f\n", "given-kernel");
  wrong("given-read-when 1c:4-2 123456789abcdef0 f\n", "given-kernel");
  wrong("read-when 123456789abcdef0 f\n", "a condition");
  wrong("read-when  123456789abcdef0 f\n", "a condition");
  wrong("read-when\n", "a condition");
  wrong("read-when 1c:4-2, 123456789abcdef0 f\n", "a condition");
  wrong("read-when 1d:4-2 123456789abcdef0 f\n", "a condition");
  wrong("read-when 1C:4-2 123456789abcdef0 f\n", "a condition");
  wrong("read-when 0:0-0,0:0-0,0:0-0,0:0-0,0:0-0,0:0-0,0:0-0,0:0-0,0:0-0 123456789abcdef0 f\n",
        "a condition");
  wrong("read-when " + std::string(1 << 20, '0') + " 123456789abcdef0 f\n", "a condition");
  wrong("read-when 1c:4-2 - f\n", "a module");
  wrong("read-when 1c:4-2 123456789abcdef0\n", "a name");
  wrong("read-when 1c:4-2 123456789abcdef0 " + std::string(5000, 'x') + "\n", "a name");

  wrong("mane x\n", "a line begins");
  EXPECT_THAT(list_.Add("other", "").message(), HasSubstr("other, line 1"));
  EXPECT_THAT(list_.Add("other", "vramspan-trust 2\n").message(), HasSubstr("line 1"));
  EXPECT_THAT(list_.Add("other", std::string(TrustList::kMostText + 1, 'x')).message(),
              HasSubstr("16 MiB"));
  EXPECT_TRUE(list_.Add("other", "vramspan-trust 1\r\n# a remark\r\n\r\nname x\r\n").ok());
  EXPECT_EQ(Of("x"), Trust::kPlausible);
}

TEST_F(TrustListTest, TakesFilesOneAfterTheOtherAndWhatItWrites) {
  const std::string line = TrustLine("f(a b)", {9, 4, 3, kModule});
  EXPECT_EQ(line, "kernel 9 4 3 123456789abcdef0 f(a b)\n");
  EXPECT_EQ(ReadLine(kModule, "f(a b)"), "read 123456789abcdef0 f(a b)\n");
  EXPECT_EQ(UnreadLine(7, "g"), "unread 0000000000000007 g\n");
  EXPECT_EQ(ImageLine(kModule, 12), "image 123456789abcdef0 12\n");
  EXPECT_EQ(TrustLine("g", {1, 1, 0, 0}), "kernel 1 1 0 - g\n");
  EXPECT_EQ(TrustLine("g", {8, 1, 0, kModule, /*arrays=*/true, /*given=*/5}),
            "given-arrays 8 1 0 0000000000000005 123456789abcdef0 g\n");
  ASSERT_TRUE(Add("of A\nname a*\nvramspan-trust 1\nname b*\n" + line).ok());
  EXPECT_EQ(Of("b1"), Trust::kPlausible);
  EXPECT_THAT(why_, HasSubstr("some.trust")) << "not A";
  EXPECT_EQ(Of("f(a b)", kModule), Trust::kProven);
}

TEST(BuiltInTrustTest, IsUnderstoodAndCallsBadWhatMissed) {
  TrustList list;
  const Status added = list.Add("built in", BuiltInTrustText());
  ASSERT_TRUE(added.ok()) << added;
  EXPECT_GT(list.size(), 1000u);
  EXPECT_FALSE(BuiltInTrust().Of("a kernel of nobody's", 1).has_value());
  // Of a name with one code the level follows from its line.
  size_t proven = 0;
  for (const std::string_view line : absl::StrSplit(BuiltInTrustText(), '\n')) {
    const std::vector<std::string_view> words = absl::StrSplit(line, absl::MaxSplits(' ', 5));
    if (words[0] != "kernel") continue;
    uint64_t module = 0;
    ASSERT_TRUE(absl::SimpleHexAtoi(words[4], &module)) << line;
    const std::optional<TrustVerdict> verdict = list.Of(words[5], module);
    ASSERT_TRUE(verdict.has_value()) << line;
    uint64_t most = 0;
    ASSERT_TRUE(absl::SimpleAtoi(words[3], &most)) << line;
    EXPECT_EQ(verdict->trust == Trust::kUntried, most >= TrustList::kNoise) << line;
    proven += verdict->trust == Trust::kProven ? 1 : 0;
  }
  EXPECT_GT(proven, 1000u);
}

// What takes its matrices by tables that kernels wrote is not trusted by any name or hash.
TEST(BuiltInTrustTest, ProductsThatTakeTablesAreProvenByAuditsOfTheProgramAlone) {
  const char* const kProduct =
      "sm80_xmma_gemm_f32f32_f32f32_f32_nn_n_tilesize1x1_of_another_version";
  const std::optional<TrustVerdict> built_in = BuiltInTrust().Of(kProduct, 0xAB);
  ASSERT_TRUE(built_in.has_value());
  EXPECT_EQ(built_in->trust, Trust::kUntried) << built_in->why;
  EXPECT_EQ(BuiltInTrust().Of("nvjet_sm90_hsh_1x1_ptrBatch_NNT", 1)->trust, Trust::kUntried);
  TrustList list;
  ASSERT_TRUE(list.Add("own", absl::StrCat("vramspan-trust 1\nof x\nkernel 8 3 9 00000000000000ab ",
                                           kProduct, "\n"))
                  .ok());
  EXPECT_EQ(FirstThenSecond(list.Of(kProduct, 0xAB), built_in).trust, Trust::kProven);
  // A name says less than what was seen of this very code.
  TrustList named, missed;
  ASSERT_TRUE(named.Add("own", "vramspan-trust 1\nof x\nname *\n").ok());
  ASSERT_TRUE(
      missed.Add("built in", "vramspan-trust 1\nof x\nkernel 0 0 999 00000000000000ab k\n").ok());
  EXPECT_EQ(FirstThenSecond(named.Of("k", 0xAB), missed.Of("k", 0xAB)).trust, Trust::kUntried);
  EXPECT_EQ(FirstThenSecond(named.Of("k", 0xCD), missed.Of("k", 0xCD)).trust, Trust::kPlausible);
  TrustList given;
  ASSERT_TRUE(given
                  .Add("own",
                       "vramspan-trust 1\nof x\nkernel 9 1 9 00000000000000ab k\n"
                       "given-kernel 9 1 9 0000000000000007 00000000000000ab k\n")
                  .ok());
  const TrustVerdict verdict = FirstThenSecond(given.Of("k", 0xAB), missed.Of("k", 0xAB));
  EXPECT_EQ(verdict.Of(7), Trust::kProven) << "by an audit of the program itself";
  EXPECT_EQ(verdict.Of(8), Trust::kUntried);
}

TEST_F(TrustListTest, WhatAnyAuditSawMissIsKnownWhateverTheUserSays) {
  TrustList user, built_in;
  ASSERT_TRUE(user.Add("mine", "vramspan-trust 1\nnot k*\n").ok());
  ASSERT_TRUE(
      built_in.Add("built in", "vramspan-trust 1\nkernel 9 9 9000 00000000000000ab k\nnot l\n")
          .ok());
  TrustVerdict verdict = OfUserThenBuiltIn(user.Of("k", 0xAB), built_in.Of("k", 0xAB));
  EXPECT_EQ(verdict.trust, Trust::kUntried);
  EXPECT_TRUE(verdict.missed);
  EXPECT_TRUE(verdict.excepted);
  verdict = OfUserThenBuiltIn(user.Of("k", 0xCD), built_in.Of("k", 0xCD));
  EXPECT_FALSE(verdict.missed) << "that was other code";
  // What is built in excepts names, of which some code may be read all the same.
  EXPECT_FALSE(OfUserThenBuiltIn(user.Of("l", 0xAB), built_in.Of("l", 0xAB)).excepted);
}

}  // namespace
}  // namespace vramspan
