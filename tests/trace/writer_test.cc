// The writer in a process that is not its own: what happens to its file, its descriptor and its
// thread is the recording's end and nothing else.
#include "runtime/trace/writer.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "tests/base/refuse_threads.h"
#include "tests/trace/sample.h"

namespace vramspan::trace {
namespace {

using ::testing::HasSubstr;

// The number under which this process has the file open.
int NumberOf(const std::string& path) {
  struct stat file, open;
  if (stat(path.c_str(), &file) != 0) return -1;
  for (int fd = 0; fd < 1024; ++fd) {
    if (fstat(fd, &open) == 0 && open.st_dev == file.st_dev && open.st_ino == file.st_ino) {
      return fd;
    }
  }
  return -1;
}

void AddSome(Writer* writer) {
  for (const Event& event : SampleEvents(1, 500)) {
    std::visit([&](const auto& e) { writer->Add(e); }, event);
  }
}

// The command line is in it.
TEST(Writer, TheFileIsItsOwnersAlone) {
  const TestFolder folder;
  const mode_t mask = umask(0);
  const auto writer = Writer::Open({.path = folder.File("t")}, SampleHeader());
  umask(mask);
  ASSERT_TRUE(writer.ok()) << writer.status();
  struct stat found;
  ASSERT_EQ(stat(folder.File("t").c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777, 0600u);
}

// A daemon closes what it does not know, and its data get the number.
TEST(Writer, ANumberThatTheProgramTookIsNotWrittenTo) {
  const TestFolder folder;
  auto writer = Writer::Open({.path = folder.File("t")}, SampleHeader());
  ASSERT_TRUE(writer.ok()) << writer.status();
  const int number = NumberOf(folder.File("t"));
  ASSERT_GT(number, 2);
  close(number);
  const int data = open(folder.File("data").c_str(), O_RDWR | O_CREAT, 0600);
  ASSERT_EQ(dup2(data, number), number);
  ASSERT_EQ(write(number, "MY DATA\n", 8), 8);
  AddSome(writer->get());
  const Status status = (*writer)->Flush();
  EXPECT_THAT(std::string(status.message()), HasSubstr(std::to_string(number)));
  writer->reset();
  EXPECT_EQ(std::filesystem::file_size(folder.File("data")), 8u);
  EXPECT_GE(fcntl(number, F_GETFD), 0) << "the program's descriptor was closed";
  close(number);
  close(data);
}

TEST(Writer, ALimitOnFilesEndsTheRecordingAndNotTheProgram) {
  const TestFolder folder;
  const pid_t child = fork();
  if (child == 0) {
    const rlimit little{4096, RLIM_INFINITY};
    setrlimit(RLIMIT_FSIZE, &little);
    auto writer = Writer::Open({.path = folder.File("t")}, SampleHeader());
    if (!writer.ok()) _exit(1);
    Status status;
    for (int i = 0; i < 200 && status.ok(); ++i) {
      AddSome(writer->get());
      status = (*writer)->Flush();
    }
    writer->reset();
    _exit(absl::IsUnavailable(status) ? 0 : 2);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

TEST(Writer, ALimitThatDoesNotFitTheHeaderIsAnError) {
  const TestFolder folder;
  const pid_t child = fork();
  if (child == 0) {
    const rlimit little{4, RLIM_INFINITY};
    setrlimit(RLIMIT_FSIZE, &little);
    const auto writer = Writer::Open({.path = folder.File("t")}, SampleHeader());
    sigset_t pending;
    sigpending(&pending);
    _exit(!writer.ok() && sigismember(&pending, SIGXFSZ) == 0 ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

TEST(Writer, ADeviceIsNoTrace) {
  for (const char* device : {"/dev/full", "/dev/null", "/"}) {
    const auto writer = Writer::Open({.path = device}, SampleHeader());
    EXPECT_TRUE(absl::IsInvalidArgument(writer.status())) << writer.status();
    EXPECT_THAT(std::string(writer.status().message()), HasSubstr(device));
  }
}

TEST(Writer, WithoutAThreadThereIsNone) {
  const TestFolder folder;
  const RefuseThreads refuse;
  const auto writer = Writer::Open({.path = folder.File("t")}, SampleHeader());
  EXPECT_TRUE(absl::IsResourceExhausted(writer.status())) << writer.status();
}

}  // namespace
}  // namespace vramspan::trace
