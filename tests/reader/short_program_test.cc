// The whole way: a program that is short of memory has its kernel's code read while it runs, and
// the kernel is trusted from then on.
#include <absl/strings/str_cat.h>
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <filesystem>

#include "tests/prove/fake_nvdisasm.h"
#include "tests/prove/made_images.h"
#include "tests/tools/run_binary.h"
#include "tools/replay/load_trace.h"

namespace vramspan::reader {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class ShortProgramTest : public testing::Test {
 protected:
  // Shows `fill` with this code, and says that it was called.
  void Disassembles(const std::string& code) const {
    folder_.Program("nvdisasm",
                    absl::StrCat("echo called >>'", folder_.path(), "/calls'", R"sh(
printf '\t.target\tsm_90\n'
printf '\t.section\t.text.fill,"ax",@progbits\n\t.type\tfill,@function\n'
printf '\t.other\tfill,@"STO_CUDA_ENTRY STV_DEFAULT"\n.text.fill:\n'
)sh",
                                 "printf '        /*0000*/                   ", code, " ;\\n'\n"));
  }
  // What the statistics say of a run.
  std::string Run(const std::string& options = "", const std::string& memory = "16MiB") const {
    const std::string stats = folder_.path() + "/stats.json";
    std::filesystem::remove(stats);
    const Output ran = RunBinary(
        absl::StrCat("-u VRAMSPAN_DRIVER -u VRAMSPAN_TRACER ",
                     "ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=0:handle_segv=0 ",
                     "SIMCUDA_COMPUTE_CAPABILITY=9.0 XDG_CACHE_HOME='", folder_.path(),
                     "/cache' PATH='", folder_.path(), "':\"$PATH\""),
        absl::StrCat("run --read on --simulate --device-memory ", memory, " --chunk 2MiB --stats='",
                     stats, "' ", options, " -- '" SHORT_PROGRAM "' '", image_, "'"));
    EXPECT_EQ(ran.code, 0) << ran.err << ran.out;
    return ReadText(stats);
  }
  size_t Calls() const { return ReadText(folder_.path() + "/calls").size() / 7; }

  const prove::FolderOfPrograms folder_;
  const std::string image_ = folder_.File(
      "image",
      prove::WithHostCode(ReadText(HOST_IMAGE),
                          prove::MadeFat({{.code = prove::MadeCubin(90, {"fill", "other"})}})));
};

TEST_F(ShortProgramTest, CodeIsReadAndTrustedWhileItRuns) {
  Disassembles("EXIT");
  EXPECT_THAT(Run(), HasSubstr("read while the program runs"));
  EXPECT_EQ(Calls(), 1u);
  // The next run has it from the first answer on.
  EXPECT_THAT(Run(), HasSubstr("read while the program runs"));
  EXPECT_EQ(Calls(), 1u);
}

// What is recorded while memory suffices is replayed with less.
TEST_F(ShortProgramTest, CodeIsReadWhileItIsRecorded) {
  Disassembles("EXIT");
  const std::string recording = folder_.path() + "/r.vramspan";
  EXPECT_THAT(Run(absl::StrCat("--record '", recording, "'"), "64MiB"),
              HasSubstr("read while the program runs"));
  EXPECT_EQ(Calls(), 1u);
  const StatusOr<replay::RecordedRun> run = replay::LoadTrace(recording);
  ASSERT_TRUE(run.ok()) << run.status();
  ASSERT_GT(run->works.size(), 16u);
  EXPECT_TRUE(run->moves.empty());
  for (const replay::RecordedWork& w : run->works) {
    if (w.kind != replay::WorkKind::kKernel) continue;
    EXPECT_EQ(w.trust, Trust::kProven);
  }
}

TEST_F(ShortProgramTest, CodeThatProvesNothingIsNotTrusted) {
  Disassembles("JMX R2");
  EXPECT_THAT(Run(), Not(HasSubstr("read while the program runs")));
  EXPECT_EQ(Calls(), 1u);
}

}  // namespace
}  // namespace vramspan::reader
