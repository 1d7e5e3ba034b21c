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

class KeptReadingsTest : public testing::Test {
 protected:
  void Put(const std::string& text) { ASSERT_TRUE(files_.Write(kept_.KeyOf(kCode), text).ok()); }
  std::optional<bool> Later(const AskedCode& code, const std::string& name,
                            uint64_t rules = kRules) {
    return KeptReadings(files_, rules).Of(code, name);
  }

  const FakeRoot root_;
  const KeyedFiles files_{kReadFiles, root_.path()};
  KeptReadings kept_{files_, kRules};
};

TEST_F(KeptReadingsTest, LaterRunsHaveThem) {
  EXPECT_EQ(kept_.Of(kCode, "f"), std::nullopt);
  kept_.Add(kCode, {{"f", true}, {"g", false}});
  EXPECT_EQ(kept_.Of(kCode, "f"), true);
  EXPECT_EQ(Later(kCode, "f"), true);
  EXPECT_EQ(Later(kCode, "g"), false);
  EXPECT_EQ(Later(kCode, "h"), std::nullopt);
  EXPECT_EQ(files_.Read(kept_.KeyOf(kCode)).value(),
            "vramspan-read 1 image 00000000000000ab gpu 90 rules 0000000000000123\n"
            "read 00000000000000ab f\nunread 00000000000000ab g\n");
  EXPECT_EQ(Later({0xab, 80}, "f"), std::nullopt) << "another GPU";
  EXPECT_EQ(Later({0xac, 90}, "f"), std::nullopt) << "another image";
  EXPECT_EQ(Later(kCode, "f", 0x124), std::nullopt) << "other rules";
}

// Two programs at once that load the same image.
TEST_F(KeptReadingsTest, WhatOthersHaveAddedStays) {
  KeptReadings other(files_, kRules);
  EXPECT_EQ(other.Of(kCode, "g"), std::nullopt);
  kept_.Add(kCode, {{"f", true}});
  other.Add(kCode, {{"g", true}});
  EXPECT_EQ(Later(kCode, "f"), true);
  EXPECT_EQ(Later(kCode, "g"), true);
}

TEST_F(KeptReadingsTest, WhatIsNotWholeIsAsIfItWasNotThere) {
  const std::string whole = KeptText(kCode, kRules, {{"f", true}, {"longer", true}});
  Put(whole);
  EXPECT_EQ(Later(kCode, "f"), true);
  for (const std::string& text :
       {std::string(), whole.substr(1), whole.substr(0, whole.size() - 2), whole + "\x01\n",
        whole + "read 00000000000000ac g\n", whole + "read 00000000000000ab \n",
        whole + "image 00000000000000ab 3\n", KeptText({0xac, 90}, kRules, {{"f", true}}),
        KeptText({0xab, 80}, kRules, {{"f", true}}), KeptText(kCode, 1, {{"f", true}}),
        whole + std::string(kReadFiles.most_text, '\n')}) {
    Put(text);
    EXPECT_EQ(Later(kCode, "f"), std::nullopt) << text.substr(0, 200);
  }
  Put(whole + "unread 00000000000000ab f\n");
  EXPECT_EQ(Later(kCode, "f"), false) << "of two the worse";
}

TEST_F(KeptReadingsTest, AFileDoesNotGrowForever) {
  ReadKernels many;
  for (int i = 0; i < 300; ++i) many[std::string(4000, 'f') + std::to_string(i)] = true;
  kept_.Add(kCode, {{"f", true}});
  kept_.Add(kCode, many);
  EXPECT_EQ(kept_.Of(kCode, many.begin()->first), true);
  EXPECT_EQ(Later(kCode, "f"), true);
  EXPECT_EQ(Later(kCode, many.begin()->first), std::nullopt);
}

TEST_F(KeptReadingsTest, WithoutAPlaceItKeepsForItself) {
  for (KeptReadings* const kept :
       {std::make_unique<KeptReadings>(std::nullopt, kRules).release(),
        std::make_unique<KeptReadings>(KeyedFiles(kReadFiles, "/no/such"), kRules).release(),
        std::make_unique<KeptReadings>(files_, 0).release()}) {
    kept->Add(kCode, {{"f", true}});
    EXPECT_EQ(kept->Of(kCode, "f"), true);
    delete kept;
  }
  EXPECT_FALSE(std::filesystem::exists(files_.folder()));
}

TEST_F(KeptReadingsTest, WhenStoppedNothingIsWritten) {
  kept_.Stop();
  kept_.Add(kCode, {{"f", true}});
  EXPECT_FALSE(std::filesystem::exists(files_.folder()));
}

TEST(OwnRulesTest, AreThoseOfTheProgram) {
  EXPECT_NE(OwnRules(), 0u);
  EXPECT_EQ(OwnRules(), OwnRules());
}

}  // namespace
}  // namespace vramspan::reader
