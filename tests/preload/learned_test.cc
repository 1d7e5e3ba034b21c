// What programs under the preload keep of a run for the next one.
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "runtime/placement/learned_kernels.h"
#include "tests/backing/fake_root.h"
#include "tests/preload/run_program.h"

namespace vramspan_test {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Le;
using ::testing::Not;
using ::testing::SizeIs;

class PreloadLearned : public ::testing::Test {
 protected:
  Output Once(const std::string& scenario, const std::string& environment = "") const {
    const Output output = RunPreloaded(
        "linked", scenario,
        "XDG_CACHE_HOME='" + root_.path() +
            "' VRAMSPAN_LEARNED=on VRAMSPAN_LOG=info VRAMSPAN_BROKER=off " + environment);
    EXPECT_EQ(output.code, 0) << output.err;
    return output;
  }
  // How many runtimes did not wait for their mover at the end, as on a machine that is busy with
  // other things, and kept nothing.
  static size_t Missed(const Output& output) {
    size_t missed = 0;
    for (size_t at = 0; (at = output.err.find("amid other work", at)) != std::string::npos; ++at) {
      ++missed;
    }
    return missed;
  }
  // Again where that was so.
  Output Run(const std::string& scenario, const std::string& environment = "") const {
    for (int attempt = 0; attempt < 10; ++attempt) {
      const Output output = Once(scenario, environment);
      if (Missed(output) == 0) return output;
    }
    ADD_FAILURE() << scenario << " never kept what it learned";
    return {};
  }
  std::string folder() const { return root_.path() + "/vramspan/learned"; }
  std::vector<std::string> Files() const {
    std::vector<std::string> files;
    if (!std::filesystem::exists(folder())) return files;
    for (const auto& entry : std::filesystem::directory_iterator(folder())) {
      files.push_back(entry.path().string());
    }
    return files;
  }
  vramspan::Learned TheOne() const {
    const std::vector<std::string> files = Files();
    EXPECT_THAT(files, SizeIs(1));
    if (files.size() != 1) return {};
    std::ifstream in(files[0]);
    const auto read = vramspan::ParseLearned(std::string(std::istreambuf_iterator<char>(in), {}));
    EXPECT_TRUE(read.ok()) << read.status();
    return read.value_or(vramspan::Learned());
  }

  const vramspan::FakeRoot root_;
};

// What a short run learns is a matter of luck: no duration is believed on a busy machine
// (mover_trials_test). So it is here told what it has learned.
TEST_F(PreloadLearned, ARunBeginsWithWhatTheOneBeforeHasLeft) {
  Run("within");
  EXPECT_THAT(Run("doubled").err, Not(HasSubstr("earlier runs")));
  vramspan::Learned kept = TheOne();
  EXPECT_EQ(kept.runs, 1u);
  EXPECT_THAT(kept.program, HasSubstr("/preload_program_linked _ _"));
  struct stat s;
  ASSERT_EQ(stat(Files()[0].c_str(), &s), 0);
  EXPECT_EQ(s.st_mode & 07777, 0600u);
  kept.kernels = {{.id = {.name = 1}, .name = "one", .resident_ns = 1000}};
  std::ofstream(Files()[0], std::ios::trunc) << vramspan::LearnedText(kept);
  EXPECT_THAT(Run("doubled").err,
              HasSubstr("earlier runs have learned of 1 kernel: " + Files()[0]));
  EXPECT_EQ(TheOne().runs, 2u);
  ASSERT_THAT(TheOne().kernels, Not(IsEmpty()));
  EXPECT_EQ(TheOne().kernels.back().name, "one");
  EXPECT_EQ(TheOne().kernels.back().age, 1u);
  // Neither of these has anything to add.
  Run("doubled", "VRAMSPAN_LEARNED=off");
  Run("within");
  EXPECT_EQ(TheOne().runs, 2u);
}

TEST_F(PreloadLearned, WordsAreNotToldWhereTheyAreNotToBe) {
  Run("doubled", "VRAMSPAN_NO_COMMAND_LINE=yes");
  EXPECT_THAT(TheOne().program, EndsWith("/preload_program_linked"));
}

TEST_F(PreloadLearned, NothingIsKeptUnlessItIsAskedFor) {
  Run("doubled", "VRAMSPAN_LEARNED=off");
  Run("doubled", "VRAMSPAN_LEARNED=");
  Run("within");
  EXPECT_THAT(std::filesystem::is_empty(root_.path()), true);
  // A recording has a look at launches, and memory suffices all the same.
  Run("within", "VRAMSPAN_RECORD='" + root_.path() + "/record'");
  EXPECT_TRUE(std::filesystem::exists(root_.path() + "/record"));
  EXPECT_FALSE(std::filesystem::exists(root_.path() + "/vramspan"));
  // As with other variables that make no sense, the program goes on without vramspan.
  const Output odd = Run("within", "VRAMSPAN_LEARNED=perhaps");
  EXPECT_THAT(odd.err, HasSubstr("VRAMSPAN_LEARNED: 'perhaps' is neither on nor off"));
}

TEST_F(PreloadLearned, WhatMakesNoSenseIsAsGoodAsNothing) {
  Run("doubled");
  vramspan::Learned other = TheOne();
  const std::string file = Files().at(0);
  const auto says = [&](const std::string& text, const std::string& why) {
    std::ofstream(file, std::ios::trunc) << text;
    const std::string err = Run("doubled", "VRAMSPAN_LOG=warning").err;
    EXPECT_THAT(err, HasSubstr("what earlier runs have learned is not used: " + why));
  };
  for (const char* text : {"", "vramspan-learned 1\n", "vramspan-learned 7\nkey 0\n"}) {
    says(text, file + ": the ");
  }
  ++other.key;
  says(vramspan::LearnedText(other), file + ": it is of another program");
  // Anybody could have written it.
  ASSERT_EQ(chmod(file.c_str(), 0666), 0);
  --other.key;
  says(vramspan::LearnedText(other), "cannot use " + file);
  std::filesystem::remove(file);
  Run("doubled");
  EXPECT_EQ(TheOne().runs, 1u);
}

TEST_F(PreloadLearned, WhereItCannotBeWrittenTheProgramGoesOn) {
  root_.Write("/vramspan", "a file");
  EXPECT_THAT(Run("doubled").err, HasSubstr("what is learned is not kept: cannot use "));
  std::filesystem::remove(root_.path() + "/vramspan");
  std::filesystem::create_directories(folder());
  ASSERT_EQ(chmod(folder().c_str(), 0777), 0);
  EXPECT_THAT(Run("doubled").err, HasSubstr("what was learned is not kept: cannot use "));
  ASSERT_EQ(chmod(folder().c_str(), 0700), 0);
  // What may be on another machine is looked at once, and not at the end.
  EXPECT_THAT(Run("doubled", "XDG_CACHE_HOME=/proc/self").err,
              HasSubstr("what is learned is not kept: cannot use /proc/self: it may not be"));
  EXPECT_THAT(Run("doubled", "XDG_CACHE_HOME= HOME=").err,
              HasSubstr("what is learned is not kept: neither"));
  EXPECT_THAT(Run("doubled", "VRAMSPAN_LOG=warning").err, Not(HasSubstr("learned")));
}

// Who is a copy of the program has learned nothing itself, and the program writes once.
TEST_F(PreloadLearned, ChildrenOfForkWriteNothing) {
  Run("doubled");
  Run("fork_after");
  EXPECT_EQ(TheOne().runs, 2u);
  Run("fork_after_exit");
  EXPECT_EQ(TheOne().runs, 3u);
}

TEST_F(PreloadLearned, WhatIsExecutedKeepsItsOwn) {
  Run("doubled");
  Run("exec");
  EXPECT_EQ(TheOne().runs, 2u);
}

// Each of five contexts has a runtime of its own. All but the last end before the program.
TEST_F(PreloadLearned, WhatEndsBeforeTheProgramIsKeptAsWell) {
  Run("doubled");
  const size_t missed = Missed(Once("contexts"));
  EXPECT_LT(missed, 5u);
  EXPECT_EQ(TheOne().runs, 6u - missed);
}

TEST_F(PreloadLearned, OfThoseThatEndAtOnceOneStays) {
  Run("doubled");
  std::vector<std::thread> programs;
  for (int i = 0; i < 3; ++i) programs.emplace_back([this] { Run("doubled"); });
  for (std::thread& program : programs) program.join();
  // All began with the first one's, or one with what another left.
  EXPECT_THAT(TheOne().runs, AllOf(Ge(2u), Le(4u)));
}

}  // namespace
}  // namespace vramspan_test
