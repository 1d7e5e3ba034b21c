#include "tools/reader/kept_readings.h"

#include <absl/strings/str_cat.h>
#include <gmock/gmock.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include "tests/backing/fake_root.h"

namespace vramspan::reader {
namespace {

constexpr AskedCode kCode = {0xab, 90};
constexpr uint64_t kRules = 0x123;
const ReadKernel kProven = {.proven = true}, kUnproven, kWhen = {true, {{{0x1c, 4, 2}}}};

class KeptReadingsTest : public testing::Test {
 protected:
  void Put(const std::string& text) { ASSERT_TRUE(files_.Write(kept_.KeyOf(kCode), text).ok()); }
  std::optional<ReadKernel> Later(const AskedCode& code, const std::string& name,
                                  uint64_t rules = kRules) {
    return KeptReadings(files_, rules).Of(code, name);
  }

  const FakeRoot root_;
  const KeyedFiles files_{kReadFiles, root_.path()};
  KeptReadings kept_{files_, kRules};
};

TEST_F(KeptReadingsTest, LaterRunsHaveThem) {
  EXPECT_EQ(kept_.Of(kCode, "f"), std::nullopt);
  kept_.Add(kCode, {{"f", kProven}, {"g", kUnproven}, {"h", kWhen}});
  EXPECT_EQ(kept_.Of(kCode, "f"), kProven);
  EXPECT_EQ(Later(kCode, "f"), kProven);
  EXPECT_EQ(Later(kCode, "g"), kUnproven);
  EXPECT_EQ(Later(kCode, "h"), kWhen);
  EXPECT_EQ(Later(kCode, "i"), std::nullopt);
  EXPECT_EQ(files_.Read(kept_.KeyOf(kCode)).value(),
            "vramspan-read 2 image 00000000000000ab gpu 90 rules 0000000000000123\n"
            "read 00000000000000ab f\nunread 00000000000000ab g\n"
            "read-when 1c:4-2 00000000000000ab h\n");
  EXPECT_EQ(Later({0xab, 80}, "f"), std::nullopt) << "another GPU";
  EXPECT_EQ(Later({0xac, 90}, "f"), std::nullopt) << "another image";
  EXPECT_EQ(Later(kCode, "f", 0x124), std::nullopt) << "other rules";
}

// Two programs at once that load the same image.
TEST_F(KeptReadingsTest, WhatOthersHaveAddedStays) {
  KeptReadings other(files_, kRules);
  EXPECT_EQ(other.Of(kCode, "g"), std::nullopt);
  kept_.Add(kCode, {{"f", kProven}});
  other.Add(kCode, {{"g", kProven}});
  EXPECT_EQ(Later(kCode, "f"), kProven);
  EXPECT_EQ(Later(kCode, "g"), kProven);
}

TEST_F(KeptReadingsTest, WhatIsNotWholeIsAsIfItWasNotThere) {
  const std::string whole = KeptText(kCode, kRules, {{"f", kProven}, {"longer", kProven}});
  Put(whole);
  EXPECT_EQ(Later(kCode, "f"), kProven);
  for (const std::string& text :
       {std::string(), whole.substr(1), whole.substr(0, whole.size() - 2), whole + "\x01\n",
        whole + "read 00000000000000ac g\n", whole + "read 00000000000000ab \n",
        whole + "image 00000000000000ab 3\n", whole + "read-when 00000000000000ab g\n",
        whole + "read-when 1c:4- 00000000000000ab g\n",
        whole + "read-when 1c:4-2 00000000000000ac g\n",
        whole + "read-when 0:0-0,0:0-0,0:0-0,0:0-0,0:0-0,0:0-0,0:0-0,0:0-0,0:0-0 00000000000000ab "
                "g\n",
        "vramspan-read 1" + whole.substr(std::string("vramspan-read 1").size()),
        KeptText({0xac, 90}, kRules, {{"f", kProven}}),
        KeptText({0xab, 80}, kRules, {{"f", kProven}}), KeptText(kCode, 1, {{"f", kProven}}),
        whole + std::string(kReadFiles.most_text, '\n')}) {
    Put(text);
    EXPECT_EQ(Later(kCode, "f"), std::nullopt) << text.substr(0, 200);
  }
  Put(whole + "unread 00000000000000ab f\n");
  EXPECT_EQ(Later(kCode, "f"), kUnproven) << "of two the worse";
}

TEST_F(KeptReadingsTest, OfTwoConditionsBothHold) {
  kept_.Add(kCode, {{"f", kWhen}, {"g", kWhen}, {"h", kWhen}, {"i", kWhen}});
  ReadKernel many = {.proven = true, .when = ParameterCases(1)};
  for (uint16_t i = 0; i < kMostParameterRanges; ++i) {
    many.when[0].push_back({static_cast<uint16_t>(4 * i), 9, 9});
  }
  KeptReadings(files_, kRules)
      .Add(kCode, {{"f", {true, {{{0, 1, 1}}}}}, {"g", kProven}, {"h", kUnproven}, {"i", many}});
  EXPECT_EQ(Later(kCode, "f"), (ReadKernel{true, {{{0, 1, 1}, {0x1c, 4, 2}}}}));
  EXPECT_EQ(Later(kCode, "g"), kWhen);
  EXPECT_EQ(Later(kCode, "h"), kUnproven);
  EXPECT_EQ(Later(kCode, "i"), kUnproven) << "more than can be said";
}

TEST_F(KeptReadingsTest, AFileDoesNotGrowForever) {
  ReadKernels many;
  for (int i = 0; i < 300; ++i) many[std::string(4000, 'f') + std::to_string(i)] = kProven;
  kept_.Add(kCode, {{"f", kProven}});
  kept_.Add(kCode, many);
  EXPECT_EQ(kept_.Of(kCode, many.begin()->first), kProven);
  EXPECT_EQ(Later(kCode, "f"), kProven);
  EXPECT_EQ(Later(kCode, many.begin()->first), std::nullopt);
}

TEST_F(KeptReadingsTest, WithoutAPlaceItKeepsForItself) {
  for (KeptReadings* const kept :
       {std::make_unique<KeptReadings>(std::nullopt, kRules).release(),
        std::make_unique<KeptReadings>(KeyedFiles(kReadFiles, "/no/such"), kRules).release(),
        std::make_unique<KeptReadings>(files_, 0).release()}) {
    kept->Add(kCode, {{"f", kProven}});
    EXPECT_EQ(kept->Of(kCode, "f"), kProven);
    delete kept;
  }
  EXPECT_FALSE(std::filesystem::exists(files_.folder()));
}

TEST_F(KeptReadingsTest, WhenStoppedNothingIsWritten) {
  kept_.Stop();
  kept_.Add(kCode, {{"f", kProven}});
  EXPECT_FALSE(std::filesystem::exists(files_.folder()));
}

TEST(OwnRulesTest, AreThoseOfTheProgram) {
  EXPECT_NE(OwnRules(), 0u);
  EXPECT_EQ(OwnRules(), OwnRules());
}

}  // namespace
}  // namespace vramspan::reader
