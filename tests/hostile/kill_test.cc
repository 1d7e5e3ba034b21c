// Commands killed at random moments: nothing stays of them but files that are whole, or a recording
// that says where it ends.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "tests/hostile/kills.h"

namespace vramspan_test {
namespace {

namespace fs = std::filesystem;
using testing::AnyOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr char kVramspan[] = "'" VRAMSPAN_BINARY "' ";
constexpr char kProgram[] = "'" HOSTILE_PROGRAMS "' ";
constexpr char kTrace[] = " '" PROJECT_FOLDER "/examples/traces/gemm-chain.vramspan' ";

class KillTest : public Kills {
 protected:
  // A command that makes one file.
  void KillWriter(const std::string& command, const std::string& output) {
    const fs::path file = work() / output;
    ASSERT_EQ(Run(kVramspan + command), 0) << err();
    const std::string whole = TextOf(file);
    ASSERT_FALSE(whole.empty());
    fs::remove(file);
    KillOften(kVramspan + command, [&] {
      EXPECT_THAT(NamesIn(work()), AnyOf(IsEmpty(), ElementsAre(output)));
      EXPECT_THAT(NamesIn(tmp()), IsEmpty());
      if (!fs::exists(file)) return;
      EXPECT_TRUE(TextOf(file) == whole) << output << " is there, and is not whole";
      fs::remove(file);
    });
  }
};

TEST_F(KillTest, ReportLeavesNothing) {
  const std::string replay = "'" + (folder() / "replay.json").string() + "' ";
  ASSERT_EQ(Run("sh -c \"" + std::string(kVramspan) + "replay" + kTrace +
                "--device-memory 50% --timeline --format json >" + replay + "\""),
            0)
      << err();
  KillWriter("report " + replay + "-o report.html", "report.html");
}

TEST_F(KillTest, TuneLeavesNothing) {
  KillWriter(std::string("tune") + kTrace + "-o profile --device-memory 50%", "profile");
}

TEST_F(KillTest, ExportLeavesNothing) {
  KillWriter(std::string("trace export") + kTrace + "--perfetto perfetto.json", "perfetto.json");
}

std::string LinksName() { return "vramspan-" + std::to_string(geteuid()); }

TEST_F(KillTest, ARecordingSaysWhereItEnds) {
  const fs::path file = work() / "trace";
  KillOften(kVramspan + std::string("run --device-memory 16MiB --record trace -- ") + kProgram +
                "work 32",
            [&] {
              EXPECT_THAT(NamesIn(work()), AnyOf(IsEmpty(), ElementsAre("trace")));
              // A build below a folder with a space in its name is reached by a link.
              EXPECT_THAT(NamesIn(tmp()), AnyOf(IsEmpty(), ElementsAre(LinksName())));
              if (!fs::exists(file)) return;
              const uintmax_t size = fs::file_size(file);
              const int code = Run(kVramspan + std::string("trace info trace"));
              if (size == 0) {
                EXPECT_EQ(code, 1);  // Killed before it had written a word.
                EXPECT_THAT(err(), HasSubstr("trace"));
              } else if (code != 0) {
                EXPECT_EQ(code, 1);
                EXPECT_THAT(err(), AnyOf(HasSubstr("the trace has no end"),
                                         HasSubstr("the file ends in the middle")));
              }
              fs::remove(file);
            });
}

// A folder with a space in its name is reached by a link, which all runs share. It goes with the
// folder, at the next start.
TEST_F(KillTest, RunLeavesNoLinkButTheOneThatAllShare) {
  const fs::path before = folder() / "a folder", after = folder() / "another folder";
  fs::create_directories(before / "bin");
  fs::create_directories(before / "lib");
  fs::copy_file(VRAMSPAN_BINARY, before / "bin/vramspan");
  fs::copy_file(PRELOAD_LIBRARY, before / "lib" / fs::path(PRELOAD_LIBRARY).filename());
  const std::string rest = "/bin/vramspan' run -- " + std::string(kProgram) + "work 4";
  const std::string links = LinksName();
  KillOften("'" + before.string() + rest, [&] {
    EXPECT_THAT(NamesIn(work()), IsEmpty());
    EXPECT_THAT(NamesIn(tmp()), AnyOf(IsEmpty(), ElementsAre(links)));
    if (!fs::exists(tmp() / links)) return;
    for (const std::string& name : NamesIn(tmp() / links)) {
      EXPECT_EQ(fs::read_symlink(tmp() / links / name), before / "lib");
    }
  });
  fs::rename(before, after);
  ASSERT_EQ(Run("'" + after.string() + rest), 0) << err();
  const std::set<std::string> left = NamesIn(tmp() / links);
  ASSERT_EQ(left.size(), 1u);
  EXPECT_EQ(fs::read_symlink(tmp() / links / *left.begin()), after / "lib");
}

}  // namespace
}  // namespace vramspan_test
