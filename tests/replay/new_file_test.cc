#include "tools/replay/new_file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <cstddef>
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
  EXPECT_EQ(Files(), 1u) << "nothing is left beside it";
}

TEST_F(NewFileTest, WhoOnlyAsksLeavesNothing) {
  EXPECT_TRUE(CheckNewFile(path_, false).ok());
  EXPECT_EQ(Files(), 0u);
}

// From here on this process has no files without a name.
bool RefuseUnnamedFiles() {
  static_assert(std::endian::native == std::endian::little);
  sock_filter filter[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
                          BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_openat, 0, 3),
                          BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args[2])),
                          BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, O_TMPFILE & ~O_DIRECTORY, 0, 1),
                          BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EOPNOTSUPP),
                          BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  const sock_fprog program{.len = std::size(filter), .filter = filter};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

TEST_F(NewFileTest, DoesWithoutUnnamedFiles) {
  const pid_t child = fork();
  if (child == 0) {
    if (!RefuseUnnamedFiles()) _exit(2);
    const int unnamed = open(folder_.path().c_str(), O_TMPFILE | O_RDWR, 0600);
    bool right = unnamed < 0 && errno == EOPNOTSUPP;
    right = right && WriteNewFile(path_, false, "old").ok() && ReadText(path_) == "old";
    right = right && absl::IsAlreadyExists(WriteNewFile(path_, false, "no"));
    {
      const auto file = NewFile::Open(path_, true);
      right = right && file.ok() && Files() == 2;
      if (file.ok()) (*file)->Write("never");
    }
    right = right && Files() == 1 && ReadText(path_) == "old";
    right = right && WriteNewFile(path_, true, "new").ok() && CheckNewFile(path_, true).ok();
    _exit(right ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(ReadText(path_), "new");
  EXPECT_EQ(Files(), 1u);
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
              HasSubstr("/dev/full: the file cannot be written: No space left"));
}

TEST_F(NewFileTest, SaysWhatCannotBeWritten) {
  for (const std::string& path : {std::string(), folder_.path(), folder_.path() + "/none/x"}) {
    const Status status = WriteNewFile(path, true, "text");
    const bool no_folder = path.ends_with("/none/x");
    EXPECT_TRUE(no_folder ? absl::IsNotFound(status) : absl::IsFailedPrecondition(status))
        << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(path));
  }
}

}  // namespace
}  // namespace vramspan::replay
