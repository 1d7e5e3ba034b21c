#include "tools/vramspan/prove_report.h"

#include <absl/strings/str_cat.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "runtime/observe/trust_list.h"
#include "tools/vramspan/prove_trust.h"
#include "tools/vramspan/trust_text.h"

namespace vramspan::prove {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::json;

constexpr uint64_t kMostlyProven = 0x123456789abcdef0, kMostlyNot = 7;

// Two files, and the second has an image of the first.
std::vector<FileVerdict> Files() {
  ImageVerdict good{.module = kMostlyProven}, bad{.module = kMostlyNot}, other{.module = 9};
  for (int i = 0; i < 20; ++i) good.kernels[absl::StrCat("good", i)] = {.proven = true};
  good.kernels["g\x1b"] = {.proven = true};
  good.kernels["table"] = {.why = "LDG R2", .gpu = "sm_90"};
  for (int i = 0; i < 5; ++i) bad.kernels[absl::StrCat("bad", i)] = {.why = "calls R4"};
  bad.kernels["one"] = {.proven = true};
  bad.kernels["modes"] = {.proven = true, .when = {{{28, 4, 2}}}};
  good.kernels["modes"] = {.proven = true, .when = {{{28, 4, 2}, {32, 0, 0}}}};
  bad.kernels["b\x1b[31m"] = {.why = "LDG \x1b"};
  other.kernels["lto"] = {.why = "no code"};
  other.why = "no code";
  return {{.path = "/home/me/liba.so", .images = 2, .own = {good, bad}},
          {.path = "libb.so", .images = 2, .own = {other}}};
}

TEST(ProveTrustTest, TheFileProvesWhatWasProvenAndNothingElse) {
  const StatusOr<std::string> text = MakeTrust(Files(), "2026-11-29");
  ASSERT_TRUE(text.ok()) << text.status();
  TrustList list;
  ASSERT_TRUE(list.Add("x", *text).ok());
  for (const FileVerdict& file : Files()) {
    for (const ImageVerdict& image : file.own) {
      for (const auto& [name, verdict] : image.kernels) {
        const auto told = list.Of(name, image.module);
        EXPECT_EQ(told.has_value() && told->trust == Trust::kProven,
                  verdict.proven && verdict.when.empty())
            << name;
        EXPECT_EQ(told.has_value() ? told->when.size() : 0, verdict.when.empty() ? 0u : 1u);
        if (!verdict.when.empty()) {
          EXPECT_EQ(told->when[0].ranges, verdict.when);
        }
        EXPECT_FALSE(list.Of(name, 1).has_value()) << "in no other image";
      }
    }
  }
  EXPECT_EQ(list.proven(), 22u);
  EXPECT_THAT(list.Of("one", kMostlyNot)->why, HasSubstr("liba.so, 2026-11-29"));
  EXPECT_THAT(*text, AllOf(HasSubstr("image 123456789abcdef0 23\nunread 123456789abcdef0 modes\n"
                                     "unread 123456789abcdef0 table\n"
                                     "read-when 1c:4-2,20:0-0 123456789abcdef0 modes\n"),
                           HasSubstr("\nread 0000000000000007 one\n"
                                     "read-when 1c:4-2 0000000000000007 modes\n"),
                           Not(HasSubstr("libb")), Not(HasSubstr("/home"))));
}

TEST(ProveTrustTest, WhatHoldsOnConditionAloneHasLinesAllTheSame) {
  ImageVerdict image{.module = 5};
  image.kernels["f"] = {.proven = true, .when = {{{28, 4, 2}}}};
  image.kernels["g"] = {.why = "LDG"};
  const auto text = MakeTrust({{.path = "a", .images = 1, .own = {image}}}, "2026-11-29");
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_THAT(*text, AllOf(HasSubstr("2026-11-29\nread-when 1c:4-2 0000000000000005 f\n"),
                           Not(HasSubstr("read 0")), Not(HasSubstr("image "))));
}

TEST(ProveTrustTest, AnImageWithAKernelThatNoLineCanNameHasALineForEach) {
  std::vector<FileVerdict> files = Files();
  files[0].own[0].kernels["t\x1b"] = {.why = "LDG"};
  const StatusOr<std::string> text = MakeTrust(files, "2026-11-29");
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_THAT(*text, AllOf(Not(HasSubstr("image ")), Not(HasSubstr("unread ")),
                           HasSubstr("read 123456789abcdef0 good19\n"), Not(HasSubstr("\x1b"))));
}

TEST(ProveTrustTest, WhatATrustFileCannotHoldIsRefused) {
  ImageVerdict image{.module = 1};
  for (size_t i = 0; i < TrustList::kMostLines; ++i) {
    image.kernels[absl::StrCat("p", i)] = {.proven = i % 2 == 0};
    image.kernels[absl::StrCat("q", i)] = {.proven = i % 2 == 1};
  }
  const auto text = MakeTrust({{.path = "a", .images = 1, .own = {image}}}, "2026-11-29");
  EXPECT_EQ(text.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(text.status().message(), HasSubstr("write one of each file"));
}

// As many images as a program loads are one source, and where they lay is nobody's business.
std::vector<FileVerdict> Loaded() {
  ImageVerdict one{.module = 1}, two{.module = 2}, none{.module = 3};
  one.kernels["kernel_of_a_name_that_has_no_end\x1b[31m_at_all"] = {.proven = true};
  one.kernels["z"] = {.why = "LDG"};
  two.kernels["k"] = {.proven = true};
  return {{.path = "/tmp/x/1.image", .loaded_by = "python3", .images = 1, .own = {one}},
          {.path = "/tmp/x/2.image", .loaded_by = "python3", .images = 1, .own = {two}},
          {.path = "/tmp/x/3.image", .loaded_by = "python3", .images = 1, .own = {none}}};
}

TEST(ProveTrustTest, WhatAProgramLoadedIsOneSource) {
  const StatusOr<std::string> text = MakeTrust(Loaded(), "2026-11-29");
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_THAT(*text, AllOf(HasSubstr("of what python3 loaded, 2026-11-29\n"),
                           Not(HasSubstr("image,")), Not(HasSubstr("/tmp"))));
  EXPECT_EQ(text->find("of what"), text->rfind("of what"));
  TrustList list;
  ASSERT_TRUE(list.Add("x", *text).ok());
  EXPECT_EQ(list.Of("k", 2)->trust, Trust::kProven);
}

TEST(ProveReportTest, WhatAProgramLoadedIsCalledByItsHashAndFirstKernel) {
  EXPECT_THAT(ToTable(Loaded(), 1),
              AllOf(HasSubstr("0000000000000001 kernel_of_a_name_that_ha...  "),
                    HasSubstr("\n0000000000000002 k  "), HasSubstr("\n0000000000000003  "),
                    Not(HasSubstr("/tmp"))));
  EXPECT_THAT(ToList(Loaded()), AllOf(HasSubstr("python3, image 0000000000000002\n"),
                                      Not(HasSubstr("/tmp")), Not(HasSubstr("\x1b"))));
  const Json file = Json::parse(ToJson(Loaded(), "", 0, false), nullptr, false).at("files").at(1);
  EXPECT_TRUE(file.at("path").is_null());
  EXPECT_EQ(file.at("loaded_by"), "python3");
  EXPECT_EQ(file.at("name"), "0000000000000002 k");
}

TEST(ProveTrustTest, AFileOfNothingIsAFileAllTheSame) {
  EXPECT_TRUE(CheckTrust(*MakeTrust({}, "2026-11-29")).ok());
}

TEST(ProveReportTest, TheTableCountsAndSaysWhyNot) {
  const std::string table = ToTable(Files(), 1);
  EXPECT_THAT(table, testing::MatchesRegex("file +images +kernels +proven +part +on condition\n"
                                           "/home/me/liba.so +2 +31 +22 +71.0 % +2\n"
                                           "libb.so +2 +1 +0 +0.0 % +0\n"
                                           "all +4 +32 +22 +68.8 % +2\n"
                                           "\n"
                                           " kernels why not\n"
                                           "       5 calls R4\n"
                                           "       3 for 3 other reasons\n"));
  EXPECT_THAT(ToTable(Files(), 0), Not(HasSubstr("other reasons")));
  EXPECT_THAT(ToTable(Files(), 0), Not(HasSubstr("\x1b")));
  EXPECT_THAT(ToTable({{.path = std::string(100, 'a') + "end"}}, 0), HasSubstr("aend  "));
}

TEST(ProveReportTest, TheListNamesEachKernel) {
  const std::string list = ToList(Files());
  EXPECT_THAT(
      list, AllOf(HasSubstr("/home/me/liba.so, image 123456789abcdef0\n"),
                  HasSubstr("\n  proven  good7\n"), HasSubstr("\n  -       bad3  calls R4\n"),
                  HasSubstr("\n  -       table  sm_90: LDG R2\n"),
                  HasSubstr("\n  on condition  modes  when the word at byte 28 of its parameters "
                            "is not 3\n"),
                  HasSubstr("libb.so, image 0000000000000009: no code\n"), Not(HasSubstr("\x1b"))));
}

TEST(ProveReportTest, JsonHasTheSame) {
  const Json json = Json::parse(ToJson(Files(), "/bin/nvdisasm", 2, true), nullptr, false);
  ASSERT_FALSE(json.is_discarded());
  EXPECT_EQ(json.at("schema"), "vramspan.prove");
  EXPECT_EQ(json.at("nvdisasm"), "/bin/nvdisasm");
  EXPECT_EQ(json.at("total"),
            Json({{"images", 4}, {"kernels", 32}, {"proven", 22}, {"on_condition", 2}}));
  EXPECT_EQ(json.at("files").at(0).at("proven"), 22);
  EXPECT_EQ(json.at("files").at(0).at("verdicts").size(), 31u);
  const auto verdicts = json.at("files").at(0).at("verdicts");
  const auto modes = std::find_if(verdicts.begin(), verdicts.end(),
                                  [](const Json& v) { return v.at("name") == "modes"; });
  EXPECT_EQ(modes->at("when"), "1c:4-2,20:0-0");
  EXPECT_EQ(modes->at("proven"), false) << "as whoever does not know of conditions must take it";
  EXPECT_THAT(modes->at("why"), HasSubstr("it is proven when the word at byte 28"));
  EXPECT_FALSE(verdicts.at(0).contains("when"));
  EXPECT_EQ(json.at("files").at(1).at("verdicts").at(0).at("why"), "no code");
  EXPECT_EQ(json.at("reasons").at(0), Json({{"kernels", 5}, {"why", "calls R4"}}));
  EXPECT_EQ(json.at("reasons_left_out"), 2);
  EXPECT_FALSE(Json::parse(ToJson(Files(), "", 0, false)).at("files").at(0).contains("verdicts"));
}

}  // namespace
}  // namespace vramspan::prove
