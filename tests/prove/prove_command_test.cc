// `vramspan prove` as a user runs it, with programs in nvdisasm's place.
#include <absl/strings/str_cat.h>
#include <gmock/gmock.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "runtime/observe/image_hash.h"
#include "runtime/observe/trust_list.h"
#include "tests/prove/fake_nvdisasm.h"
#include "tests/prove/made_images.h"
#include "tests/tools/run_binary.h"
#include "tools/prove/fat_format.h"
#include "tools/prove/files.h"

namespace vramspan::prove {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
using Json = nlohmann::json;

class ProveCommandTest : public testing::Test {
 protected:
  FolderOfPrograms folder_;
  // Shows the names of functions, and no code.
  const std::string nvdisasm_ = folder_.Program(
      "nvdisasm", "strings -n 1 \"$1\" | sed -n 's/^kernel.*/.text.&:/p' | sort -u");
  const std::string fat_ =
      MadeFat({{.sm = 80, .code = MadeCubin(80, {"kernel_a", "kernel_b"}), .flags = 0x8000},
               {.sm = 90, .code = MadeCubin(90, {"kernel_a"})}});
  Output Prove(const std::string& arguments) {
    return RunBinary("", absl::StrCat("prove --nvdisasm '", nvdisasm_, "' ", arguments));
  }
  std::string Quoted(const std::string& name, const std::string& bytes) {
    return absl::StrCat("'", folder_.File(name, bytes), "' ");
  }
};

TEST_F(ProveCommandTest, ReadsWhatLiesInAFolder) {
  const std::string cubin = MadeCubin(90, {"kernel_c"});
  folder_.File("all/lib.so",
               "\x7f"
               "ELF\x02\x01" +
                   std::string(100, '\0') + fat_);
  folder_.File("all/deep/k.cubin", cubin);
  folder_.File("all/lib.a", "!<arch>\n");
  folder_.File("all/weights", fat_ + "no");
  folder_.File("all/text", fat_.substr(1));
  std::filesystem::create_symlink(folder_.path() + "/all/lib.so", folder_.path() + "/all/link.so");
  EXPECT_THAT(*FilesOf(folder_.path() + "/all"),
              ElementsAre(folder_.path() + "/all/deep/k.cubin", folder_.path() + "/all/lib.a",
                          folder_.path() + "/all/lib.so", folder_.path() + "/all/weights"));
  const Output ran =
      Prove(absl::StrCat("--jobs 2 --format json --list '", folder_.path(), "/all'"));
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(ran.err, "");
  const Json json = Json::parse(ran.out, nullptr, false);
  ASSERT_FALSE(json.is_discarded()) << ran.out;
  EXPECT_EQ(json.at("total").at("images"), 3);
  EXPECT_EQ(json.at("total").at("kernels"), 3);
  EXPECT_EQ(json.at("files").size(), 3u) << "one has no image";
  EXPECT_EQ(json.at("nvdisasm"), nvdisasm_);
}

// No file can be made in /proc, whoever runs this.
TEST_F(ProveCommandTest, WhatThereIsNoRoomForIsAFailure) {
  const std::string arguments =
      absl::StrCat("prove --nvdisasm '", nvdisasm_, "' ", Quoted("lib.so", fat_));
  const Output ran = RunBinary("TMPDIR=/proc", arguments);
  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.err, HasSubstr("2 pieces of code were not read: no file can be made in /proc: "));
  EXPECT_THAT(ran.err, HasSubstr("name another folder by TMPDIR"));
  EXPECT_THAT(ran.out, ContainsRegex("lib.so +1 +2 +0")) << "what is known is shown";
  // What nvdisasm says of code is a verdict.
  folder_.Program("nvdisasm", "echo unknown >&2; exit 1");
  EXPECT_EQ(RunBinary("", arguments).code, 0);
}

TEST_F(ProveCommandTest, WritesATrustFile) {
  const std::string trust = folder_.path() + "/out.trust", file = Quoted("lib.so", fat_);
  Output ran = Prove(file + "--trust '" + trust + "'");
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, AllOf(StartsWith("file"), ContainsRegex("lib.so +1 +2 ")));
  TrustList list;
  EXPECT_TRUE(list.Add("x", ReadText(trust)).ok()) << ReadText(trust);
  ran = Prove(file + "--trust '" + trust + "'");
  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.err, HasSubstr("--force"));
  EXPECT_EQ(ran.out, "") << "nothing was read in vain";
  EXPECT_EQ(Prove(file + "--force --trust '" + trust + "'").code, 0);
}

TEST_F(ProveCommandTest, SaysWhatCannotBeRead) {
  const std::string good = Quoted("lib.so", fat_), none = Quoted("text", "no image");
  Output ran = Prove(good + none + "/no/such/file --list");
  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.out, AllOf(HasSubstr("kernel_a"), ContainsRegex("lib.so +1 +2 ")));
  EXPECT_THAT(ran.err, AllOf(HasSubstr("/text holds no GPU image"),
                             HasSubstr("/no/such/file: No such file or directory")));
  ran = Prove(none);
  EXPECT_EQ(ran.code, 1);
  EXPECT_EQ(ran.out, "");
  folder_.Program("nvdisasm", "echo too old >&2; exit 1");
  ran = Prove(good);
  EXPECT_EQ(ran.code, 0) << "that nothing is proven is no failure";
  EXPECT_THAT(ran.out, HasSubstr("2 nvdisasm: too old\n"));
  ran = RunBinary("", "prove --nvdisasm /no/such/nvdisasm " + good);
  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.err, HasSubstr("/no/such/nvdisasm is no program"));
  EXPECT_EQ(RunBinary("", "prove").code, 2);
  EXPECT_EQ(Prove(good + "--jobs 0").code, 2);
}

}  // namespace
}  // namespace vramspan::prove
