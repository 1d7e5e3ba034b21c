// What a program asks of whoever reads code beside it, and what it makes of the answers.
#include "runtime/api/code_reading.h"

#include <absl/strings/str_cat.h>
#include <gmock/gmock.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <sstream>
#include <thread>

#include "runtime/base/log.h"
#include "runtime/observe/image_hash.h"
#include "runtime/observe/parameters.h"
#include "tests/observe/fat_binary.h"

namespace vramspan {
namespace {

namespace fs = std::filesystem;
using Reading = KernelCode::Reading;

std::string TextOf(const std::string& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

class CodeReadingTest : public testing::Test {
 protected:
  CodeReadingTest() {
    std::string name = (fs::temp_directory_path() / "vramspan-reading-XXXXXX").string();
    VS_CHECK(mkdtemp(name.data()) != nullptr);
    folder_ = name;
    std::ofstream(folder_ + "/asked");
    std::ofstream(folder_ + "/answers");
    images_.Loaded(&image_, image_.data(), /*preserved=*/false);
    code_.name = "kernel";
    code_.module = HashOfImage(image_.data());
    hex_ = absl::StrCat(absl::Hex(code_.module, absl::kZeroPad16));
  }
  ~CodeReadingTest() override {
    reading_.reset();
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }

  void Start(std::vector<int> gpus = {90}) {
    reading_ = std::make_unique<CodeReading>(folder_, std::move(gpus), &images_);
  }
  // Looks again and again: what it waits for comes, or the test has failed.
  static bool Comes(const std::function<bool()>& what) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!what()) {
      if (std::chrono::steady_clock::now() > until) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return true;
  }
  bool IsAsked(const std::string& lines) const {
    return Comes([&] { return TextOf(folder_ + "/asked").ends_with(lines); });
  }
  void Answer(const std::string& text) const {
    std::ofstream(folder_ + "/answers", std::ios::app) << text;
  }
  // Whether a launch is that is given these words.
  static bool ProvenWith(const KernelCode& code, const std::vector<uint32_t>& words) {
    const auto* const bytes = reinterpret_cast<const char*>(words.data());
    return code.ProvenBy(Parameters{.buffer = {bytes, words.size() * sizeof(uint32_t)}});
  }
  static bool Becomes(const KernelCode& code, Reading reading) {
    return Comes([&] { return code.reading.load() == reading; });
  }

  std::string folder_, hex_;
  std::string image_ = FatOf("code");
  ModuleImages images_{/*copies=*/true};
  KernelCode code_;
  std::unique_ptr<CodeReading> reading_;
};

TEST_F(CodeReadingTest, CodeIsAskedForOnceAndTrustedByTheAnswer) {
  Start();
  EXPECT_EQ(code_.trust(), Trust::kUntried);
  reading_->Wants(code_);
  reading_->Wants(code_);
  ASSERT_TRUE(IsAsked("ask 90 " + hex_ + " kernel\n"));
  EXPECT_EQ(TextOf(folder_ + "/" + hex_ + ".image"), image_);
  Answer("90 read " + hex_);  // Not whole yet.
  Answer(" kernel\n");
  EXPECT_TRUE(Becomes(code_, Reading::kProven));
  EXPECT_EQ(code_.trust(), Trust::kProven);
  EXPECT_EQ(code_.why(), "read while the program runs");
  KernelCode other;
  other.name = "other";
  other.module = code_.module;
  reading_->Wants(other);
  ASSERT_TRUE(IsAsked("ask 90 " + hex_ + " kernel\nask 90 " + hex_ + " other\n"));
  Answer("90 unread " + hex_ + " other\n");
  EXPECT_TRUE(Becomes(other, Reading::kUnproven));
  EXPECT_EQ(other.trust(), Trust::kUntried);
}

TEST_F(CodeReadingTest, AllKindsOfGpusCount) {
  Start({86, 90});
  reading_->Wants(code_);
  ASSERT_TRUE(IsAsked("ask 86 " + hex_ + " kernel\nask 90 " + hex_ + " kernel\n"));
  // Another process asks for one of them alone, so its answer comes twice.
  Answer("90 read " + hex_ + " kernel\n90 read " + hex_ + " kernel\n");
  KernelCode last;
  last.name = "last";
  last.module = code_.module;
  reading_->Wants(last);
  ASSERT_TRUE(IsAsked(hex_ + " last\n"));
  Answer("90 read " + hex_ + " last\n86 read " + hex_ + " last\n");
  ASSERT_TRUE(Becomes(last, Reading::kProven));
  EXPECT_EQ(code_.reading.load(), Reading::kAsked) << "its answers were taken before";
  Answer("86 unread " + hex_ + " kernel\n");
  EXPECT_TRUE(Becomes(code_, Reading::kUnproven));
}

TEST_F(CodeReadingTest, WhatIsNoAnswerIsNone) {
  Start();
  reading_->Wants(code_);
  ASSERT_TRUE(IsAsked("ask 90 " + hex_ + " kernel\n"));
  for (const std::string& line :
       {"read " + hex_ + " kernel", std::string("90 read kernel"), "90 read " + hex_,
        "90 image " + hex_ + " 1", "90 read-when " + hex_ + " kernel",
        "90 read-when 1x:0-0 " + hex_ + " kernel", "90 read-when 0:0-0, " + hex_ + " kernel",
        "90 read-when 0:0-0,0:0-0,0:0-0,0:0-0,0:0-0,0:0-0,0:0-0,0:0-0,0:0-0 " + hex_ + " kernel",
        "9 read " + hex_ + " kernel", "90 read " + hex_ + " kernel ",
        "90 read " + std::string(16, '0') + " kernel", std::string("90"), std::string()}) {
    Answer(line + "\n");
  }
  KernelCode last;
  last.name = "last";
  last.module = code_.module;
  reading_->Wants(last);
  ASSERT_TRUE(IsAsked(hex_ + " last\n"));
  Answer("90 read " + hex_ + " last\n");
  ASSERT_TRUE(Becomes(last, Reading::kProven));
  EXPECT_EQ(code_.reading.load(), Reading::kAsked);
}

TEST_F(CodeReadingTest, AnAnswerOnConditionProvesLaunchesThatAreSo) {
  Start();
  reading_->Wants(code_);
  ASSERT_TRUE(IsAsked(hex_ + " kernel\n"));
  EXPECT_FALSE(code_.depends());
  Answer("90 read-when 0:4-2 " + hex_ + " kernel\n");
  ASSERT_TRUE(Becomes(code_, Reading::kProvenWhen));
  EXPECT_TRUE(code_.depends());
  EXPECT_EQ(code_.trust(), Trust::kUntried) << "whatever it is given";
  EXPECT_TRUE(ProvenWith(code_, {4}) && ProvenWith(code_, {2}));
  EXPECT_FALSE(ProvenWith(code_, {3}) || ProvenWith(code_, {}));
}

TEST_F(CodeReadingTest, TheConditionsOfAllKindsOfGpusHold) {
  Start({80, 86, 90});
  KernelCode one, always, half, many;
  const std::string lines[] = {"read-when 0:1-5", "read", "read-when 0:5-9,4:0-0"};
  std::string answers;
  for (KernelCode* const code : {&one, &always, &half, &many}) {
    code->name = code == &one      ? "one"
                 : code == &always ? "always"
                 : code == &half   ? "half"
                                   : "many";
    code->module = code_.module;
    reading_->Wants(*code);
  }
  ASSERT_TRUE(IsAsked("ask 90 " + hex_ + " many\n"));
  const int gpus[] = {80, 86, 90};
  for (int i = 0; i < 3; ++i) {
    absl::StrAppend(&answers, gpus[i], " ", lines[i], " ", hex_, " one\n");
    absl::StrAppend(&answers, gpus[i], " read ", hex_, " always\n");
    absl::StrAppend(&answers, gpus[i], i == 1 ? " unread " : " read-when 0:1-5 ", hex_, " half\n");
    std::string when = "0:1-1";
    for (int k = 1; k < 4; ++k) absl::StrAppend(&when, ",", absl::Hex(16 * i + 4 * k), ":1-1");
    absl::StrAppend(&answers, gpus[i], " read-when ", when, " ", hex_, " many\n");
  }
  Answer(answers);
  EXPECT_TRUE(Becomes(one, Reading::kProvenWhen));
  EXPECT_TRUE(ProvenWith(one, {5, 0}));
  EXPECT_FALSE(ProvenWith(one, {4, 0}) || ProvenWith(one, {6, 0}) || ProvenWith(one, {5, 1}));
  EXPECT_TRUE(Becomes(always, Reading::kProven));
  EXPECT_TRUE(Becomes(half, Reading::kUnproven));
  EXPECT_TRUE(Becomes(many, Reading::kUnproven)) << "ten conditions";
}

// What is built in saw launches by table, which conditions leave out. Nobody else did.
TEST_F(CodeReadingTest, CodeThatIsBuiltInAsMissingIsTrustedOnConditionAlone) {
  Start();
  KernelCode always, on_condition;
  always.name = "always";
  on_condition.name = "on_condition";
  for (KernelCode* const code : {&always, &on_condition}) {
    code->module = code_.module;
    code->verdict.missed = true;
    reading_->Wants(*code);
  }
  ASSERT_TRUE(IsAsked("ask 90 " + hex_ + " always\nask 90 " + hex_ + " on_condition\n"));
  Answer("90 read " + hex_ + " always\n90 read-when 0:1-1 " + hex_ + " on_condition\n");
  EXPECT_TRUE(Becomes(always, Reading::kUnproven));
  EXPECT_EQ(always.trust(), Trust::kUntried);
  EXPECT_TRUE(Becomes(on_condition, Reading::kProvenWhen));
}

TEST_F(CodeReadingTest, NothingIsAskedThatCannotBeRead) {
  Start();
  KernelCode unknown, missed, excepted, gone, odd, text;
  unknown.name = missed.name = excepted.name = gone.name = text.name = "k";
  odd.name = "k\nask 90 " + hex_ + " kernel";
  missed.module = excepted.module = odd.module = code_.module;
  missed.verdict.missed = missed.verdict.user_missed = true;
  excepted.verdict.excepted = true;
  gone.module = 77;
  const std::string ptx = ".version 8.0\n.target sm_90\n";
  images_.Loaded(&ptx, ptx.c_str(), /*preserved=*/true);
  text.module = HashOfImage(ptx.c_str());
  for (const KernelCode* const code : {&unknown, &missed, &excepted, &gone, &odd, &text}) {
    reading_->Wants(*code);
    EXPECT_TRUE(Becomes(*code, Reading::kUnproven)) << code->module;
  }
  EXPECT_EQ(TextOf(folder_ + "/asked"), "");
}

TEST_F(CodeReadingTest, AFolderThatOthersMayWriteToDecidesNothing) {
  ASSERT_EQ(chmod(folder_.c_str(), 0770), 0);
  Start();
  reading_->Wants(code_);
  EXPECT_TRUE(Becomes(code_, Reading::kUnproven));
  EXPECT_EQ(TextOf(folder_ + "/asked"), "");
}

TEST_F(CodeReadingTest, AFolderThatTakesItsPlaceDecidesNothing) {
  Start();
  reading_->Wants(code_);
  ASSERT_TRUE(IsAsked(hex_ + " kernel\n"));
  const std::string place = folder_;
  const std::string moved = folder_ + "-moved";
  fs::rename(place, moved);
  fs::create_directory(place);
  Answer("90 read " + hex_ + " kernel\n");
  folder_ = moved;
  Answer("90 unread " + hex_ + " kernel\n");
  EXPECT_TRUE(Becomes(code_, Reading::kUnproven));
  fs::remove_all(place);
}

TEST_F(CodeReadingTest, ManyAnswersAreTakenPieceByPiece) {
  Start();
  reading_->Wants(code_);
  ASSERT_TRUE(IsAsked(hex_ + " kernel\n"));
  std::string others;
  for (int i = 0; i < 5000; ++i) absl::StrAppend(&others, "90 read ", hex_, " other", i, "\n");
  Answer(others + "90 read " + hex_ + " kernel\n");
  EXPECT_TRUE(Becomes(code_, Reading::kProven));
}

TEST_F(CodeReadingTest, AFolderThatGoesEndsIt) {
  Start();
  reading_->Wants(code_);
  ASSERT_TRUE(IsAsked("ask 90 " + hex_ + " kernel\n"));
  fs::remove_all(folder_);
  EXPECT_TRUE(Becomes(code_, Reading::kUnproven));
  KernelCode later;
  later.name = "later";
  later.module = code_.module;
  reading_->Wants(later);
  EXPECT_TRUE(Becomes(later, Reading::kUnproven));
}

TEST_F(CodeReadingTest, ItEndsWhileAnAnswerIsDue) {
  Start();
  reading_->Wants(code_);
  reading_.reset();
  EXPECT_NE(code_.reading.load(), Reading::kProven);
}

TEST_F(CodeReadingTest, CopiesOfImagesGoWithTheirModules) {
  EXPECT_NE(images_.Find(code_.module), nullptr);
  images_.Unloads(&image_);
  EXPECT_EQ(images_.Find(code_.module), nullptr);
  const std::string large = FatOf(std::string(ModuleImages::kMostCopied.value, 'l'));
  images_.Loaded(&large, large.data(), /*preserved=*/false);
  EXPECT_EQ(images_.Find(HashOfImage(large.data())), nullptr);
  // Half of what there is room for, again and again.
  const std::string half = FatOf(std::string(ModuleImages::kMostCopied.value / 2, 'h'));
  for (int i = 0; i < 3; ++i) {
    images_.Loaded(&half, half.data(), /*preserved=*/false);
    EXPECT_NE(images_.Find(HashOfImage(half.data())), nullptr) << i;
    images_.Unloads(&half);
  }
  // What stays where it is needs no room.
  images_.Loaded(&large, large.data(), /*preserved=*/true);
  EXPECT_EQ(images_.Find(HashOfImage(large.data())), nullptr) << "nobody has asked for its hash";
}

}  // namespace
}  // namespace vramspan
