// The text of what was learned, as it is written, read, cut and spoilt; and what a run leaves to
// the next.
#include "runtime/placement/learned_kernels.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/str_replace.h>
#include <gmock/gmock.h>

namespace vramspan {
namespace {

using ::testing::HasSubstr;

LearnedKernel Kernel(uint64_t name) {
  return {.id = {.name = name, .module = 7, .shape = ~uint64_t{0}, .bytes = 3 << 20},
          .name = absl::StrCat("gemm<float, ", name, ">"),
          .resident_ns = 33'500,
          .touched = MiB(3),
          .resident_age = 5,
          .arguments = {{.price = {.slot = 8, .sure = true, .passes = 1.25}},
                        {.price = {.slot = 8, .wide = true, .passes = 79}, .age = 3}}};
}

Learned Sample() {
  return {.key = 0x0fedcba987654321,
          .program = "/usr/bin/python3 /home/ada/train.py --steps _",
          .device = "NVIDIA H100 80GB HBM3, driver 13000",
          .runs = 3,
          .kernels = {Kernel(1), Kernel(2)}};
}

// As a stranger could, who knows how the sum is made.
Status Changed(const std::string& from, const std::string& to) {
  std::string text = LearnedText(Sample());
  text = absl::StrReplaceAll(text.substr(0, text.rfind("end ")), {{from, to}});
  return ParseLearned(text + LearnedEnd(text)).status();
}

TEST(LearnedText, ComesBackAsItWasWritten) {
  const StatusOr<Learned> read = ParseLearned(LearnedText(Sample()));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(*read, Sample());
  EXPECT_EQ(ParseLearned(LearnedText({})).value(), Learned());
}

TEST(LearnedText, IsOnlyReadWhole) {
  const std::string text = LearnedText(Sample());
  for (size_t size = 0; size < text.size(); ++size) {
    EXPECT_FALSE(ParseLearned(text.substr(0, size)).ok()) << size;
  }
  EXPECT_FALSE(ParseLearned(text + "\n").ok());
}

TEST(LearnedText, NoBitOfItMayBeAnother) {
  const std::string text = LearnedText(Sample());
  for (size_t i = 0; i < 8 * text.size(); ++i) {
    std::string other = text;
    other[i / 8] = static_cast<char>(other[i / 8] ^ (1 << i % 8));
    EXPECT_FALSE(ParseLearned(other).ok()) << i;
  }
}

TEST(LearnedText, OfAnotherVersionIsNotRead) {
  const Status newer = Changed("vramspan-learned 1", "vramspan-learned 2");
  EXPECT_TRUE(absl::IsFailedPrecondition(newer)) << newer;
  EXPECT_TRUE(absl::IsInvalidArgument(Changed("vramspan-learned 1", "vramspan-prices 1")));
}

TEST(LearnedText, WithAFigureBeyondReasonIsNotRead) {
  EXPECT_TRUE(Changed("x", "x").ok());
  const std::pair<const char*, const char*> changes[] = {
      {"key 0fedcba987654321", "key 0FEDCBA987654321"},
      {"key 0fedcba987654321\n", ""},
      {"runs 3", "runs -3"},
      {"runs 3", "runs 99999999999999999999"},
      {" 33500 ", " 60000000001 "},
      {" 33500 ", " 1e3 "},
      {" 3145728 5 ", " 72057594037927937 5 "},
      {" 5 0 gemm", " 17 0 gemm"},
      {" 5 0 gemm", " 5 17 gemm"},
      {" 5 0 gemm", " 0 gemm"},
      {"ffffffffffffffff", "fffffffffffffff"},
      {"argument 8 ", "argument 65536 "},
      {" narrow ", " thin "},
      {" once ", " never "},
      {" 79000 3", " 1000001 3"},
      {" 79000 3", " nan 3"},
      {" 79000 3", " 79000 17"},
      {" 79000 3", " 79000"},
      {" 79000 3", " 79000 3 4"},
      {"runs 3\n", "runs 3\nargument 8 wide sure 1 0\n"},
      {"runs 3\n", "runs 3\n\n"},
  };
  for (const auto& [from, to] : changes) EXPECT_FALSE(Changed(from, to).ok()) << from << to;
  EXPECT_THAT(Changed(" once ", "\x1b[2J ").ToString(), HasSubstr("line 8"));
}

TEST(LearnedText, IsBounded) {
  Learned much = Sample();
  for (uint64_t i = 3; i <= 2 * Learned::kMostKernels; ++i) {
    much.kernels.push_back(Kernel(i));
    much.kernels.back().name.assign(5000, '\n');
    for (uint16_t slot = 0; slot < 14; ++slot) {
      much.kernels.back().arguments.push_back({.price = {.slot = slot}});
    }
  }
  much.kernels[0].arguments[0].price.passes = 1e300;
  much.kernels[0].resident_ns = ~uint64_t{0};
  much.program.assign(10'000, 'x');
  const std::string text = LearnedText(much);
  EXPECT_LE(text.size(), kMostLearnedText);
  EXPECT_GT(text.size(), kMostLearnedText / 2);
  const StatusOr<Learned> read = ParseLearned(text);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->kernels[1].id, Kernel(2).id);
  EXPECT_FALSE(ParseLearned(std::string(kMostLearnedText + 1, 'x')).ok());
}

TEST(Learned, WhatARunSawComesFirstAndTheRestGrowsOld) {
  LearnedKernel seen = Kernel(2);
  seen.resident_ns = 1000;
  seen.arguments = {{.price = {.slot = 8, .sure = true, .passes = 2}},
                    {.price = {.slot = 8, .wide = true, .told = true, .passes = 79}}};
  const Learned after = Sample().After({seen, Kernel(9)});
  EXPECT_EQ(after.runs, 4u);
  EXPECT_EQ(after.key, Sample().key);
  ASSERT_EQ(after.kernels.size(), 3u);
  EXPECT_EQ(after.kernels[0].resident_ns, 1000u);
  EXPECT_EQ(after.kernels[0].resident_age, 0u);
  EXPECT_EQ(after.kernels[0].arguments[0].age, 0u);
  EXPECT_EQ(after.kernels[0].arguments[1].age, 4u) << "taken over once more";
  EXPECT_EQ(after.kernels[1].id, Kernel(9).id);
  EXPECT_EQ(after.kernels[2].id, Kernel(1).id);
  EXPECT_EQ(after.kernels[2].age, 1u);
}

TEST(Learned, WhatNoRunSeesIsForgotten) {
  Learned kept = Sample();
  LearnedKernel told = Kernel(1);
  for (LearnedKernel::Argument& a : told.arguments) a.price.told = true;
  uint32_t runs = 0;
  for (; runs < 100 && kept.kernels.size() == 2; ++runs) kept = kept.After({told});
  EXPECT_EQ(runs, Learned::kMostAge + 1) << "nobody launches the second";
  for (; runs < 100 && !kept.kernels[0].arguments.empty(); ++runs) kept = kept.After({told});
  EXPECT_EQ(runs, Learned::kMostAge + 1) << "what an argument costs is to be seen again";
  EXPECT_NE(kept.kernels[0].resident_ns, 0u);
  told.arguments.clear();
  told.resident_told = true;
  for (runs = 0; runs < 100 && !kept.kernels.empty(); ++runs) kept = kept.After({told});
  EXPECT_EQ(runs, Learned::kMostAge + 1) << "and so is how long it takes";
  // What a profile says is not the file's.
  EXPECT_EQ(kept.After({told}).kernels.size(), 0u);
}

}  // namespace
}  // namespace vramspan
