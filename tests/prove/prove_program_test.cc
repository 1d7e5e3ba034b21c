// `vramspan prove -- program`: what the program loads into the simulated driver is kept and read.
#include <absl/strings/str_cat.h>
#include <absl/strings/str_replace.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <vector>

#include "runtime/observe/image_hash.h"
#include "runtime/observe/trust_list.h"
#include "tests/prove/fake_nvdisasm.h"
#include "tests/prove/made_images.h"
#include "tests/tools/run_binary.h"

namespace vramspan::prove {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using Json = nlohmann::json;

// As a user's shell is: without what these tests are given.
constexpr char kClean[] =
    "-u VRAMSPAN_DRIVER -u VRAMSPAN_TRACER "
    "ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=0:handle_segv=0 ";

class ProveProgramTest : public testing::Test {
 protected:
  FolderOfPrograms folder_;
  // Shows each kernel of the file, its last argument, as one that ends at once.
  const std::string nvdisasm_ = folder_.Program("nvdisasm", R"sh(
for file; do :; done
printf '\t.target\tsm_90\n'
strings -n 1 "$file" | grep '^kernel' | sort -u | while read -r kernel; do
  printf '\t.section\t.text.%s,"ax",@progbits\n' "$kernel"
  printf '\t.type\t%s,@function\n' "$kernel"
  printf '\t.other\t%s,@"STO_CUDA_ENTRY STV_DEFAULT"\n' "$kernel"
  printf '.text.%s:\n        /*0000*/                   EXIT ;\n' "$kernel"
done)sh");
  const std::string temporary_ = folder_.path() + "/temporary";
  const std::string first_ = MadeFat({{.code = MadeCubin(90, {"kernel_a", "kernel_b"})}});
  const std::string second_ = MadeFat({{.code = MadeCubin(90, {"kernel_c"})}});
  const std::string one_ = folder_.File("one", WithHostCode(ReadText(HOST_IMAGE), first_));
  const std::string two_ = folder_.File("two", WithHostCode(ReadText(HOST_IMAGE), second_));

  ProveProgramTest() { fs::create_directory(temporary_); }

  Output Prove(const std::string& arguments, const std::string& environment = "") {
    return RunBinary(absl::StrCat(kClean, "TMPDIR='", temporary_, "' ", environment),
                     absl::StrCat("prove --nvdisasm '", nvdisasm_, "' ", arguments));
  }
  // Of the options before the program and what the program is to load.
  Output Loading(const std::string& options, const std::string& loads,
                 const std::string& environment = "") {
    const Output ran =
        Prove(options + " --simulate -- '" LOADING_PROGRAM "' " + loads, environment);
    EXPECT_THAT(Left(), IsEmpty()) << "nothing is left";
    return ran;
  }
  static std::vector<std::string> Names(const std::string& folder) {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder)) {
      names.push_back(entry.path().filename().string());
    }
    return names;
  }
  // What is in the folder for temporary files, but the links by which LD_PRELOAD names a file below
  // a folder with a space in its name (tools/vramspan/loader_path.cc).
  std::vector<std::string> Left() const {
    std::vector<std::string> names = Names(temporary_);
    std::erase(names, absl::StrCat("vramspan-", geteuid()));
    return names;
  }
  static std::string HashText(const std::string& image) {
    return absl::StrCat(absl::Hex(HashOfImage(image.data()), absl::kZeroPad16));
  }
};

TEST_F(ProveProgramTest, ReadsWhatTheProgramLoads) {
  const std::string trust = folder_.path() + "/out.trust";
  const Output ran =
      Loading("--list --trust '" + trust + "'",
              absl::StrCat("module:'", one_, "' preserved:'", two_, "' library:'", one_, "'"));
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(ran.err, "");
  EXPECT_THAT(ran.out, ContainsRegex("\n" + HashText(first_) + " kernel_a +1 +2 +2 "));
  EXPECT_THAT(ran.out, ContainsRegex("\n" + HashText(second_) + " kernel_c +1 +1 +1 "));
  EXPECT_THAT(ran.out, ContainsRegex("\nall +2 +3 "));
  EXPECT_THAT(ran.out, HasSubstr("loading_program, image " + HashText(first_)));
  EXPECT_THAT(ran.out, Not(HasSubstr(temporary_)));
  TrustList list;
  EXPECT_TRUE(list.Add("x", ReadText(trust)).ok()) << ReadText(trust);
  EXPECT_EQ(list.Of("kernel_b", HashOfImage(first_.data()))->trust, Trust::kProven);
  EXPECT_EQ(list.proven(), 3u);
  EXPECT_THAT(ReadText(trust), HasSubstr("\nof what loading_program loaded, "));
}

TEST_F(ProveProgramTest, FilesAreReadBesideIt) {
  const std::string file = folder_.File("lib.so", first_);
  const Output ran = Loading("--format json --list '" + file + "'",
                             absl::StrCat("module:'", one_, "' module:'", two_, "'"));
  ASSERT_EQ(ran.code, 0) << ran.err;
  const Json json = Json::parse(ran.out, nullptr, false);
  ASSERT_FALSE(json.is_discarded()) << ran.out;
  const Json& files = json.at("files");
  ASSERT_EQ(files.size(), 2u) << "what the file has the program need not show";
  EXPECT_EQ(files[0].at("path"), file);
  EXPECT_FALSE(files[0].contains("loaded_by"));
  EXPECT_TRUE(files[1].at("path").is_null());
  EXPECT_EQ(files[1].at("loaded_by"), "loading_program");
  EXPECT_EQ(files[1].at("name"), HashText(second_) + " kernel_c");
  EXPECT_EQ(files[1].at("verdicts")[0].at("name"), "kernel_c");
  EXPECT_EQ(json.at("total").at("kernels"), 3);
}

TEST_F(ProveProgramTest, ChildrenAndThoseAtTheSameTimeCount) {
  std::string both;
  for (int i = 0; i < 8; ++i) {
    absl::StrAppend(&both, "\"$0\" module:\"$1\" module:\"$2\" & ");
  }
  const Output ran = Prove(absl::StrCat("--simulate -- sh -c '", both, "wait' '", LOADING_PROGRAM,
                                        "' '", one_, "' '", two_, "'"));
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(ran.err, "");
  EXPECT_THAT(ran.out, ContainsRegex("\nall +2 +3 "));
}

// It needs what it needs, and what is not seen does not move.
TEST_F(ProveProgramTest, ItsMemoryMayBeMoreThanTheDeviceHas) {
  const std::string loads = "memory:64 module:'" + one_ + "'";
  const std::string stats = folder_.path() + "/stats.json";
  const Output ran =
      Loading("", loads, "SIMCUDA_DEVICE_MEMORY=48MiB VRAMSPAN_STATS='" + stats + "'");
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("kernel_a"));
  EXPECT_THAT(ReadText(stats),
              AllOf(HasSubstr("\"peak_allocated_bytes\":67108864"), HasSubstr("\"works\":0,")));
  // A user who turned vramspan off for other commands asks for this one all the same.
  EXPECT_THAT(Loading("", "module:'" + one_ + "'", "VRAMSPAN_OFF=1").out, HasSubstr("kernel_a"));
}

TEST_F(ProveProgramTest, AProgramThatFailsIsReadAllTheSame) {
  const Output ran = Loading("", "module:'" + one_ + "' exit:7");
  EXPECT_EQ(ran.code, 0);
  EXPECT_THAT(ran.out, HasSubstr("kernel_a"));
  EXPECT_THAT(ran.err,
              HasSubstr("loading_program ended with exit code 7; what it loaded was read"));
}

TEST_F(ProveProgramTest, AProgramThatLoadsNothingIsToldWhatToDo) {
  Output ran = Prove("--simulate -- true");
  EXPECT_EQ(ran.code, 1);
  EXPECT_EQ(ran.out, "");
  EXPECT_THAT(ran.err, AllOf(HasSubstr("true (exit code 0) loaded no GPU code that vramspan saw"),
                             HasSubstr("Have it run a step")));
  ran = Loading("", "path:'" + one_ + "'");
  EXPECT_EQ(ran.code, 1) << "by its path";
  ran = Loading("", "module:'" HOST_IMAGE "'");
  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.err, HasSubstr("loaded no code for a GPU of NVIDIA's"));
  // What else there was is read.
  ran = Loading("'" + folder_.File("lib.so", first_) + "'", "exit:0");
  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.out, HasSubstr("lib.so"));
}

TEST_F(ProveProgramTest, ImagesAreKeptWhereTheUserSays) {
  const std::string kept = folder_.path() + "/kept";
  EXPECT_EQ(Loading("--keep '" + kept + "'", "module:'" + one_ + "'").code, 0);
  struct stat folder = {};
  ASSERT_EQ(stat(kept.c_str(), &folder), 0);
  EXPECT_EQ(folder.st_mode & 0777, 0700u);
  EXPECT_EQ(Names(kept).size(), 1u);
  folder_.File("kept/.new-half", first_);
  folder_.File("kept/other", first_);
  const Output ran = Loading("--keep '" + kept + "'", "module:'" + two_ + "'");
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, ContainsRegex("\nall +2 +3 ")) << "the earlier run's, too";
  ASSERT_EQ(chmod(kept.c_str(), 0777), 0);
  const Output open = Loading("--keep '" + kept + "'", "module:'" + two_ + "'");
  EXPECT_EQ(open.code, 1);
  EXPECT_THAT(open.err, HasSubstr("others may write there"));
  EXPECT_THAT(Loading("--keep '" + one_ + "'", "exit:0").err, HasSubstr("it is no folder"));
}

TEST_F(ProveProgramTest, MistakesAreSaid) {
  EXPECT_EQ(Prove("--").code, 2);
  EXPECT_THAT(Prove("--").err, HasSubstr("there is no program behind --"));
  EXPECT_THAT(Prove("").err, HasSubstr("name files, or a program behind --"));
  EXPECT_THAT(Prove("--simulate '" + one_ + "'").err, HasSubstr("none is behind --"));
  EXPECT_THAT(Prove("--keep -- true").err, HasSubstr("--keep needs a value"));
  EXPECT_EQ(Prove("-- no-such-program").code, 127);
  EXPECT_EQ(Prove("-- /tmp").code, 126);
  EXPECT_THAT(Left(), IsEmpty());
}

// Nothing of that is found in words that are the program's own.
TEST_F(ProveProgramTest, TheProgramsWordsAreItsOwn) {
  const Output ran = Prove("--simulate -- sh -c 'echo \"$@\"' sh --help --keep '' -- --list");
  EXPECT_THAT(ran.out, HasSubstr("--help --keep  -- --list\n"));
}

TEST_F(ProveProgramTest, TheVariableByItselfKeepsImages) {
  const std::string kept = folder_.path() + "/kept";
  fs::create_directory(kept);
  fs::permissions(kept, fs::perms::owner_all);
  const auto run = [&](const std::string& variable) {
    return RunBinary(kClean + variable,
                     "run --simulate -- '" LOADING_PROGRAM "' module:'" + one_ + "'");
  };
  EXPECT_EQ(run("").code, 0);
  EXPECT_EQ(run("VRAMSPAN_IMAGES=''").code, 0);
  EXPECT_THAT(Names(kept), IsEmpty());
  const Output ran = run("VRAMSPAN_IMAGES='" + kept + "'");
  EXPECT_EQ(ran.code, 0);
  EXPECT_EQ(ran.err, "");
  const std::string whole = WithHostCode(ReadText(HOST_IMAGE), first_);
  ASSERT_EQ(Names(kept), std::vector<std::string>{HashText(whole) + ".image"});
  EXPECT_EQ(ReadText(kept + "/" + HashText(whole) + ".image"), whole);
  EXPECT_THAT(run("VRAMSPAN_IMAGES=/no/such/folder").err, HasSubstr("/no/such/folder: No such"));
}

}  // namespace
}  // namespace vramspan::prove
