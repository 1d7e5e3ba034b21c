// Links to folders whose names the loader would split, in places that others may be able to write
// to.
#include "tools/vramspan/loader_path.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "tests/tools/run_binary.h"

namespace vramspan::run {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;

class LoaderPathTest : public ::testing::Test {
 protected:
  LoaderPathTest() {
    fs::create_directories(odd_);
    std::ofstream(odd_ + "/lib.so") << "the library";
    fs::create_directory(place_);
  }

  std::string Refused(const std::vector<std::string>& places) const {
    const StatusOr<std::string> path = LoaderPath(odd_ + "/lib.so", places);
    EXPECT_FALSE(path.ok()) << *path;
    return std::string(path.status().message());
  }
  std::string Made() const {
    const StatusOr<std::string> path = LoaderPath(odd_ + "/lib.so", {place_});
    EXPECT_TRUE(path.ok()) << path.status();
    return path.value_or("");
  }

  const TemporaryFolder folder_;
  const std::string odd_ = folder_.path() + "/a b:c;d$e/lib", place_ = folder_.path() + "/place";
  const std::string own_ = place_ + "/vramspan-" + std::to_string(geteuid());
};

TEST_F(LoaderPathTest, WhatTheLoaderTakesStaysAsItIs) {
  EXPECT_EQ(*LoaderPath("/usr/lib/lib.so", {}), "/usr/lib/lib.so");
  for (const char* path : {"/a b/l.so", "/a:b/l.so", "/a;b/l.so", "/a$LIB/l.so", "/a\tb/l.so"}) {
    EXPECT_FALSE(LoaderTakes(path)) << path;
  }
}

TEST_F(LoaderPathTest, AllRunsShareOneLinkToTheFolder) {
  const std::string path = Made();
  EXPECT_TRUE(LoaderTakes(path)) << path;
  EXPECT_EQ(ReadText(path), "the library");
  EXPECT_EQ(Made(), path);
  struct stat s;
  ASSERT_EQ(stat(own_.c_str(), &s), 0);
  EXPECT_EQ(s.st_mode & 07777u, 0700u);
  EXPECT_EQ(std::distance(fs::directory_iterator(own_), fs::directory_iterator()), 1);
}

TEST_F(LoaderPathTest, ProcessesThatMakeItAtOnceGetTheSame) {
  for (int i = 0; i < 20; ++i) {
    fs::remove_all(own_);
    for (int child = 0; child < 4; ++child) {
      if (fork() == 0) _exit(LoaderPath(odd_ + "/lib.so", {place_}).ok() ? 0 : 1);
    }
    int status = 0;
    while (wait(&status) > 0) EXPECT_EQ(status, 0);
  }
}

TEST_F(LoaderPathTest, OnlyLinksToWhatIsGoneAreSwept) {
  const std::string path = Made();
  const std::string gone = own_ + "/0123456789abcdef", there = own_ + "/fedcba9876543210",
                    other = own_ + "/not-ours", file = own_ + "/0000000000000000";
  fs::create_symlink(folder_.path() + "/gone", gone);
  fs::create_symlink(folder_.path(), there);
  fs::create_symlink(folder_.path() + "/gone", other);
  std::ofstream(file) << "no link";
  EXPECT_EQ(Made(), path);
  EXPECT_FALSE(fs::is_symlink(gone));
  EXPECT_TRUE(fs::is_symlink(there));
  EXPECT_TRUE(fs::is_symlink(other));
  EXPECT_TRUE(fs::exists(file));
}

TEST_F(LoaderPathTest, AFolderThatIsNotTheUsersAloneIsNotUsed) {
  fs::create_directory(own_);
  chmod(own_.c_str(), 0755);
  EXPECT_THAT(Refused({place_}), AllOf(HasSubstr(own_ + ": it has mode 0755, not 0700"),
                                       HasSubstr("cannot take the path " + odd_ + "/lib.so")));
  fs::remove(own_);
  // Made by somebody else, beforehand.
  fs::create_directory(folder_.path() + "/elsewhere");
  chmod((folder_.path() + "/elsewhere").c_str(), 0700);
  fs::create_directory_symlink(folder_.path() + "/elsewhere", own_);
  EXPECT_THAT(Refused({place_}), HasSubstr(own_ + ": it exists, and is not a folder"));
  fs::remove(own_);
  std::ofstream(own_) << "";
  EXPECT_THAT(Refused({place_}), HasSubstr(own_ + ": it exists, and is not a folder"));
  fs::remove(own_);
  if (geteuid() == 0) {
    fs::create_directory(own_);
    chmod(own_.c_str(), 0700);
    ASSERT_EQ(chown(own_.c_str(), 1, 1), 0);
    EXPECT_THAT(Refused({place_}), HasSubstr(own_ + ": it belongs to another user"));
  }
}

TEST_F(LoaderPathTest, APlaceThatOthersMayChangeIsNotUsed) {
  chmod(place_.c_str(), 0777);
  EXPECT_THAT(Refused({place_}), HasSubstr(place_ + ": others may write to it"));
  chmod(place_.c_str(), 01777);
  EXPECT_EQ(ReadText(Made()), "the library") << "as /tmp is";
  // Whoever may rename the folder that it lies in may put another in its place.
  chmod(folder_.path().c_str(), 0777);
  EXPECT_THAT(Refused({place_}), HasSubstr(folder_.path() + ": others may write to it"));
  chmod(folder_.path().c_str(), 0700);
}

TEST_F(LoaderPathTest, TheFirstPlaceThatWillDoIsTaken) {
  const std::string spaced = folder_.path() + "/a place";
  fs::create_directory(spaced);
  const StatusOr<std::string> path =
      LoaderPath(odd_ + "/lib.so", {folder_.path() + "/none", spaced, place_});
  ASSERT_TRUE(path.ok()) << path.status();
  EXPECT_TRUE(path->starts_with(place_)) << *path;
  EXPECT_THAT(Refused({folder_.path() + "/none", spaced}),
              AllOf(HasSubstr("/none: No such file or directory; "),
                    HasSubstr(spaced + ": its path has a character that")));
}

TEST_F(LoaderPathTest, AnotherLinkOfThatNameIsNotFollowed) {
  const fs::path link = fs::path(Made()).parent_path();
  fs::remove(link);
  fs::create_directory_symlink(place_, link);
  EXPECT_THAT(Refused({place_}),
              HasSubstr(link.string() + ": it exists, and is not a link to " + odd_));
}

}  // namespace
}  // namespace vramspan::run
