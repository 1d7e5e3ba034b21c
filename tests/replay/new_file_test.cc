#include "tools/replay/new_file.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "tests/tools/run_binary.h"

namespace vramspan::replay {
namespace {

using ::testing::HasSubstr;

class NewFileTest : public ::testing::Test {
 protected:
  size_t Files() const {
    const std::filesystem::directory_iterator all(folder_.path());
    return static_cast<size_t>(std::distance(begin(all), end(all)));
  }
  void Put(const std::string& text) { std::ofstream(path_) << text; }

  const TemporaryFolder folder_;
  const std::string path_ = folder_.path() + "/result";
};

TEST_F(NewFileTest, IsThereWhenItIsWhole) {
  auto file = NewFile::Open(path_, false);
  ASSERT_TRUE(file.ok()) << file.status();
  (*file)->Write("some");
  (*file)->Write("thing");
  EXPECT_FALSE(std::filesystem::exists(path_));
  EXPECT_TRUE((*file)->Close().ok());
  file->reset();
  EXPECT_EQ(ReadText(path_), "something");
  EXPECT_EQ(Files(), 1u);
}

TEST_F(NewFileTest, LeavesWhatIsThereUntilThen) {
  Put("old");
  ASSERT_EQ(chmod(path_.c_str(), 0640), 0);
  {
    const auto file = NewFile::Open(path_, true);
    ASSERT_TRUE(file.ok()) << file.status();
    (*file)->Write("new");
  }
  EXPECT_EQ(ReadText(path_), "old") << "it was never closed";
  EXPECT_EQ(Files(), 1u);
  EXPECT_TRUE(WriteNewFile(path_, true, "new").ok());
  EXPECT_EQ(ReadText(path_), "new");
  struct stat status;
  ASSERT_EQ(stat(path_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0640u);
}

TEST_F(NewFileTest, AKilledProgramLeavesItToo) {
  Put("old");
  const pid_t child = fork();
  if (child == 0) {
    auto file = NewFile::Open(path_, true);
    if (!file.ok()) _exit(1);
    (*file)->Write(std::string(1 << 20, 'x'));
    raise(SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(ReadText(path_), "old");
}

TEST_F(NewFileTest, ReplacesNothingUnasked) {
  auto late = NewFile::Open(path_, false);
  ASSERT_TRUE(late.ok());
  Put("mine");
  EXPECT_TRUE(absl::IsAlreadyExists(NewFile::Open(path_, false).status()));
  EXPECT_TRUE(absl::IsAlreadyExists(CheckNewFile(path_, false)));
  (*late)->Write("late");
  EXPECT_TRUE(absl::IsAlreadyExists((*late)->Close())) << "it came meanwhile";
  late->reset();
  EXPECT_EQ(ReadText(path_), "mine");
  EXPECT_EQ(Files(), 1u);
  // A link that leads nowhere is there, too.
  const std::string link = folder_.path() + "/link";
  std::filesystem::create_symlink(folder_.path() + "/nowhere", link);
  EXPECT_TRUE(absl::IsAlreadyExists(NewFile::Open(link, false).status()));
}

TEST_F(NewFileTest, WhatALinkLeadsToIsReplaced) {
  Put("old");
  const std::string link = folder_.path() + "/link";
  std::filesystem::create_symlink("result", link);
  EXPECT_TRUE(WriteNewFile(link, true, "new").ok());
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  EXPECT_EQ(ReadText(path_), "new");
}

TEST_F(NewFileTest, DevicesAreWrittenTo) {
  EXPECT_TRUE(WriteNewFile("/dev/null", true, "text").ok());
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
  EXPECT_THAT(std::string(WriteNewFile("/dev/full", true, "text").message()),
              HasSubstr("/dev/full: cannot be written: No space left"));
}

TEST_F(NewFileTest, SaysWhatCannotBeWritten) {
  for (const std::string& path : {std::string(), folder_.path(), folder_.path() + "/none/x"}) {
    const Status status = WriteNewFile(path, true, "text");
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(path));
  }
}

}  // namespace
}  // namespace vramspan::replay
