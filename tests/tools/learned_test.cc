// `vramspan learned` over files as runs leave them.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "runtime/api/learned_files.h"
#include "runtime/placement/learned_kernels.h"
#include "tests/tools/run_binary.h"

namespace vramspan {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::json;

constexpr uint64_t kTrain = 0x3f0c7d8a90b1e342, kTest = 0x3f00000000000001;

class LearnedCommand : public ::testing::Test {
 protected:
  LearnedCommand() {
    Learned train = {.key = kTrain,
                     .program = "/usr/bin/python3 /home/ada/train.py --steps _",
                     .device = "NVIDIA H100 80GB HBM3, GPU 0, driver 13000, vramspan 0.1.0",
                     .runs = 3,
                     .kernels = {{.id = {.name = 1, .module = 7},
                                  .name = "gemm<float>",
                                  .resident_ns = 33'500,
                                  .touched = MiB(300),
                                  .age = 2}}};
    train.kernels[0].arguments = {{.price = {.slot = 8, .sure = true, .passes = 1.25}},
                                  {.price = {.slot = 16, .wide = true, .passes = 79}, .age = 4}};
    train.kernels.push_back({.name = "unseen"});
    Write(train);
  }
  void Write(const Learned& learned) const {
    EXPECT_TRUE(files_.Write(learned.key, LearnedText(learned)).ok());
  }
  Output Do(const std::string& line) const {
    return RunBinary("XDG_CACHE_HOME='" + cache_.path() + "'", "learned " + line);
  }

  const TemporaryFolder cache_;
  const KeyedFiles files_{kLearnedFiles, cache_.path()};
};

TEST_F(LearnedCommand, ListsProgramsAsATableAndAsJson) {
  const Output table = Do("list");
  EXPECT_EQ(table.code, 0) << table.err;
  EXPECT_THAT(table.out, AllOf(HasSubstr("3f0c7d8a90b1e342     3        2"), HasSubstr("second"),
                               HasSubstr("train.py --steps _\n")));
  const Json json = Json::parse(Do("list --format json").out);
  EXPECT_EQ(json["schema"], "vramspan.learned-list");
  ASSERT_EQ(json["files"].size(), 1u);
  EXPECT_EQ(json["files"][0]["key"], "3f0c7d8a90b1e342");
  EXPECT_EQ(json["files"][0]["runs"], 3);
  EXPECT_EQ(json["files"][0]["kernels"], 2);
}

TEST_F(LearnedCommand, ShowsWhatIsKeptOfOne) {
  const Output table = Do("show");
  EXPECT_EQ(table.code, 0) << table.err;
  EXPECT_THAT(table.out,
              AllOf(HasSubstr("program  /usr/bin/python3 /home/ada/train.py --steps _\n"),
                    HasSubstr("33.5 us  300.0 MiB    2  8: 1.25, 16 wide: 79.00?"),
                    HasSubstr("gemm<>\n"), HasSubstr("unseen\n")));
  const Json json = Json::parse(Do("show 3f0c --format json").out);
  EXPECT_EQ(json["key"], "3f0c7d8a90b1e342");
  EXPECT_EQ(json["kernels"][0]["resident_ns"], 33'500);
  EXPECT_EQ(json["kernels"][0]["arguments"][1]["passes"], 79);
  EXPECT_EQ(json["kernels"][0]["arguments"][1]["age"], 4);
  EXPECT_EQ(Do("show 4").code, 1);
  EXPECT_THAT(Do("show 4").err, HasSubstr("no key begins with '4'"));
  Write({.key = kTest});
  EXPECT_EQ(Do("show 3f0").code, 2) << "two begin so";
  EXPECT_EQ(Do("show 3f0c").code, 0);
}

TEST_F(LearnedCommand, ClearsAllOrSome) {
  Write({.key = kTest});
  EXPECT_EQ(Do("clear 9").code, 1);
  EXPECT_EQ(Do("clear ''").code, 2);
  EXPECT_EQ(Do("clear 3f0c7 3f0c").out, "1 file removed\n");
  EXPECT_TRUE(absl::IsNotFound(files_.Read(kTrain).status()));
  EXPECT_EQ(Do("clear").out, "1 file removed\n");
  EXPECT_EQ(Do("clear").out, "0 files removed\n");
  EXPECT_THAT(Do("list").out, HasSubstr("nothing is kept in " + files_.folder()));
  EXPECT_EQ(Json::parse(Do("list --format json").out)["files"].size(), 0u);
  EXPECT_THAT(Do("show").out, HasSubstr("nothing is kept in "));
}

TEST_F(LearnedCommand, NamesWhatItCannotRead) {
  Write({.key = kTest});
  std::ofstream(files_.PathOf(kTrain), std::ios::trunc) << "\x1b[2J\n";
  const Output list = Do("list");
  EXPECT_EQ(list.code, 1);
  EXPECT_THAT(list.out, AllOf(HasSubstr("3f00000000000001"), Not(HasSubstr("3f0c"))));
  EXPECT_THAT(list.err, AllOf(HasSubstr(files_.PathOf(kTrain)), Not(HasSubstr("\x1b"))));
  EXPECT_THAT(Json::parse(Do("list --format json").out).dump(), HasSubstr("first line"));
  EXPECT_EQ(Do("show 3f0c").code, 1);
  EXPECT_EQ(Do("clear 3f0c").code, 0);
  EXPECT_EQ(Do("list").code, 0);
  // A program's own words are anybody's.
  std::string text =
      "vramspan-learned 1\nkey 3f0c7d8a90b1e342\nprogram \x1b[2J\ndevice \x9b\nruns 1\n";
  EXPECT_TRUE(files_.Write(kTrain, text + LearnedEnd(text)).ok());
  for (const char* line : {"list", "show 3f0c", "show 3f0c --format json", "list --format json"}) {
    const Output run = Do(line);
    EXPECT_EQ(run.code, 0) << line << run.err;
    EXPECT_THAT(run.out, AllOf(Not(HasSubstr("\x1b")), Not(HasSubstr("\x9b")))) << line;
  }
}

TEST_F(LearnedCommand, RefusesWhatItDoesNotKnow) {
  for (const char* line : {"", "lists", "list --format csv", "show a b"}) {
    EXPECT_EQ(Do(line).code, 2) << line;
  }
  const Output nowhere = RunBinary("XDG_CACHE_HOME= HOME=", "learned list");
  EXPECT_EQ(nowhere.code, 1);
  EXPECT_THAT(nowhere.err, HasSubstr("neither XDG_CACHE_HOME nor HOME"));
}

}  // namespace
}  // namespace vramspan
