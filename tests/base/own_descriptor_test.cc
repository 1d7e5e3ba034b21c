#include "runtime/base/own_descriptor.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

namespace vramspan {
namespace {

using ::testing::HasSubstr;

int NewFile(std::string* name) {
  char path[] = "/tmp/vramspan_descriptor_test.XXXXXX";
  const int fd = mkstemp(path);
  *name = path;
  return fd;
}

bool IsOpen(int fd) { return fcntl(fd, F_GETFD) >= 0; }

TEST(OwnDescriptor, LiesHighAndIsClosedByExec) {
  std::string name;
  const int low = NewFile(&name);
  OwnDescriptor own;
  EXPECT_FALSE(own.held());
  own.Adopt(low);
  EXPECT_TRUE(own.held());
  const StatusOr<int> now = own.Get();
  ASSERT_TRUE(now.ok()) << now.status();
  EXPECT_FALSE(IsOpen(low));
  EXPECT_GT(*now, low);
  EXPECT_EQ(fcntl(*now, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
  own.Close();
  EXPECT_FALSE(IsOpen(*now));
  unlink(name.c_str());
}

TEST(OwnDescriptor, FitsWhereFewMayBeOpen) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit few{32, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  OwnDescriptor own;
  own.Adopt(open("/dev/null", O_WRONLY));
  const StatusOr<int> now = own.Get();
  setrlimit(RLIMIT_NOFILE, &before);
  ASSERT_TRUE(now.ok()) << now.status();
  EXPECT_EQ(*now, 24);
}

TEST(OwnDescriptor, ANumberThatTheProgramTookIsLeftAlone) {
  std::string ours, theirs;
  OwnDescriptor own;
  own.Adopt(NewFile(&ours));
  const int number = *own.Get();
  close(number);
  const int other = NewFile(&theirs);
  ASSERT_EQ(dup2(other, number), number);
  EXPECT_THAT(std::string(own.Get().status().message()), HasSubstr(std::to_string(number)));
  EXPECT_FALSE(own.held());
  // For good, also where it looks like ours again.
  const int again = open(ours.c_str(), O_WRONLY);
  ASSERT_EQ(dup2(again, number), number);
  EXPECT_FALSE(own.Get().ok());
  own.Close();
  EXPECT_TRUE(IsOpen(number));
  for (const int fd : {number, other, again}) close(fd);
  unlink(ours.c_str());
  unlink(theirs.c_str());
}

TEST(OwnDescriptor, OneThatTheProgramTookIsNotClosed) {
  OwnDescriptor own;
  own.Adopt(open("/dev/null", O_WRONLY));
  const int number = *own.Get();
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  ASSERT_EQ(dup2(ends[1], number), number);
  own.Close();
  EXPECT_TRUE(IsOpen(number));
  for (const int fd : {number, ends[0], ends[1]}) close(fd);
}

TEST(OwnDescriptor, AClosedOneIsLost) {
  OwnDescriptor own;
  own.Adopt(open("/dev/null", O_WRONLY));
  close(*own.Get());
  EXPECT_TRUE(absl::IsUnavailable(own.Get().status()));
  EXPECT_TRUE(absl::IsUnavailable(own.Get().status()));
}

TEST(OwnDescriptor, TellsSocketsApart) {
  const int first = socket(AF_UNIX, SOCK_SEQPACKET, 0), second = socket(AF_UNIX, SOCK_SEQPACKET, 0);
  OwnDescriptor own;
  own.Adopt(first);
  const int number = *own.Get();
  ASSERT_EQ(dup2(second, number), number);
  EXPECT_FALSE(own.Get().ok());
  close(second);
  close(number);
}

// Its inode would be the next file's otherwise, on ext4 for one.
TEST(OwnDescriptor, ADeletedFileIsNotTakenForTheNext) {
  std::string ours, theirs;
  OwnDescriptor own;
  own.Adopt(NewFile(&ours));
  const int number = *own.Get();
  unlink(ours.c_str());
  close(number);
  const int other = NewFile(&theirs);
  ASSERT_EQ(dup2(other, number), number);
  EXPECT_FALSE(own.Get().ok());
  close(other);
  close(number);
  unlink(theirs.c_str());
}

}  // namespace
}  // namespace vramspan
