// Learned files: of this user alone, whole or not there, and not too many.
#include "runtime/api/learned_files.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utime.h>

#include <array>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <optional>
#include <thread>

#include "runtime/placement/learned_kernels.h"
#include "tests/backing/fake_root.h"

namespace vramspan {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr uint64_t kKey = 0x0123456789abcdef;

class LearnedFilesTest : public ::testing::Test {
 protected:
  std::string path() const { return files_.PathOf(kKey); }
  void PutFile(const std::string& text) const {
    EXPECT_TRUE(files_.Write(kKey, text).ok());
    EXPECT_EQ(files_.Read(kKey).value(), text);
  }
  // What the folder holds beside what is a learned file.
  size_t Others() const {
    size_t others = 0;
    for (const auto& entry : std::filesystem::directory_iterator(files_.folder())) {
      others += entry.path().extension() != ".learned";
    }
    return others;
  }

  const FakeRoot root_;
  const KeyedFiles files_{kLearnedFiles, root_.path()};
};

TEST_F(LearnedFilesTest, WhatIsWrittenIsRead) {
  EXPECT_TRUE(absl::IsNotFound(files_.Read(kKey).status()));
  EXPECT_THAT(files_.List().value(), SizeIs(0));
  const mode_t before = umask(0777);
  PutFile("one");
  umask(before);
  PutFile("two");
  EXPECT_THAT(path(), HasSubstr("/vramspan/learned/0123456789abcdef.learned"));
  struct stat s;
  ASSERT_EQ(stat(path().c_str(), &s), 0);
  EXPECT_EQ(s.st_mode & 07777, 0600u);
  EXPECT_EQ(Others(), 0u);
  EXPECT_TRUE(files_.Remove(kKey).ok());
  EXPECT_TRUE(absl::IsNotFound(files_.Remove(kKey)));
  EXPECT_TRUE(absl::IsNotFound(files_.Read(kKey).status()));
}

TEST_F(LearnedFilesTest, WhatOthersCouldHaveWrittenIsNotRead) {
  PutFile("text");
  for (const mode_t mode : {0644, 0620, 0666}) {
    ASSERT_EQ(chmod(path().c_str(), mode), 0);
    EXPECT_THAT(files_.Read(kKey).status().ToString(), HasSubstr("not a file of this user's alone"))
        << mode;
  }
  ASSERT_EQ(chmod(path().c_str(), 0600), 0);
  // Whoever may give files away can try it with another user's.
  if (geteuid() == 0) {
    ASSERT_EQ(chown(path().c_str(), 1, 1), 0);
    EXPECT_FALSE(files_.Read(kKey).ok());
    ASSERT_EQ(chown(path().c_str(), 0, 0), 0);
  }
  ASSERT_EQ(link(path().c_str(), (root_.path() + "/other").c_str()), 0);
  EXPECT_FALSE(files_.Read(kKey).ok()) << "it has another name";
  ASSERT_EQ(chmod(files_.folder().c_str(), 0777), 0);
  EXPECT_FALSE(files_.Read(kKey).ok());
  EXPECT_FALSE(files_.Write(kKey, "text").ok());
  EXPECT_FALSE(files_.List().ok());
  ASSERT_EQ(chmod(files_.folder().c_str(), 0700), 0);
  // What is renamed over it is this user's alone again.
  PutFile("new");
}

// As it is made under a mask of 002, which is the default of many systems.
TEST_F(LearnedFilesTest, TheFolderAboveMayBeOfTheUsersGroup) {
  for (const mode_t mode : {0775, 0755}) {
    const std::string above = root_.path() + "/vramspan";
    std::filesystem::remove_all(above);
    ASSERT_EQ(mkdir(above.c_str(), mode), 0);
    ASSERT_EQ(chmod(above.c_str(), mode), 0);
    PutFile("text");
    struct stat s;
    ASSERT_EQ(stat(files_.folder().c_str(), &s), 0);
    EXPECT_EQ(s.st_mode & 07777, 0700u);
  }
}

// Where numbers of processes come again, as in containers.
TEST_F(LearnedFilesTest, WhatKilledWritersHaveLeftIsInNobodysWay) {
  PutFile("text");
  for (int serial = 1; serial < 500; ++serial) {
    std::ofstream(path() + "." + std::to_string(getpid()) + "." + std::to_string(serial) + ".half");
  }
  PutFile("new");
  EXPECT_EQ(Others(), 499u);
}

TEST_F(LearnedFilesTest, AFolderThatMayBeOnAnotherMachineIsNotUsed) {
  EXPECT_TRUE(files_.Check().ok());
  PutFile("text");
  EXPECT_TRUE(files_.Check().ok());
  EXPECT_TRUE(KeyedFiles(kLearnedFiles, root_.path() + "/no/such").Check().ok());
  EXPECT_THAT(KeyedFiles(kLearnedFiles, "/proc/self").Check().ToString(),
              HasSubstr("not be on this machine"));
}

TEST_F(LearnedFilesTest, NoLinkIsFollowed) {
  PutFile("text");
  const std::string target = root_.path() + "/target";
  std::filesystem::rename(path(), target);
  std::filesystem::create_symlink(target, path());
  EXPECT_FALSE(files_.Read(kKey).ok());
  PutFile("new");
  EXPECT_FALSE(std::filesystem::is_symlink(path()));
  std::ifstream kept(target);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(kept), {}), "text");
  // Nor to a folder.
  std::filesystem::rename(files_.folder(), root_.path() + "/elsewhere");
  std::filesystem::create_directory_symlink(root_.path() + "/elsewhere", files_.folder());
  EXPECT_FALSE(files_.Read(kKey).ok());
  EXPECT_FALSE(files_.Write(kKey, "text").ok());
}

TEST_F(LearnedFilesTest, WhatIsNoFileIsLeftAlone) {
  PutFile("text");
  std::filesystem::remove(path());
  ASSERT_EQ(mkfifo(path().c_str(), 0600), 0);
  EXPECT_FALSE(files_.Read(kKey).ok()) << "and it does not wait for a writer";
  std::filesystem::remove(path());
  std::filesystem::create_directories(path() + "/full");
  EXPECT_FALSE(files_.Read(kKey).ok());
  EXPECT_FALSE(files_.Write(kKey, "text").ok());
  EXPECT_EQ(Others(), 0u) << "what was half written is gone";
  ASSERT_TRUE(files_.Write(1, "text").ok());
  EXPECT_THAT(files_.List().value(), SizeIs(1)) << "and it is none of ours";
  EXPECT_EQ(files_.RemoveAll().value(), 1u);
  EXPECT_TRUE(std::filesystem::is_directory(path()));
}

TEST_F(LearnedFilesTest, OfAFileThatIsTooLongNoMoreIsReadThanTellsSo) {
  PutFile("text");
  std::filesystem::resize_file(path(), size_t{1} << 40);
  EXPECT_EQ(files_.Read(kKey).value().size(), kMostLearnedText + 1);
  EXPECT_FALSE(ParseLearned(files_.Read(kKey).value()).ok());
}

TEST_F(LearnedFilesTest, WhereNoFolderCanBeThereIsAnError) {
  const KeyedFiles nowhere(kLearnedFiles, root_.path() + "/no/such");
  EXPECT_FALSE(nowhere.Write(kKey, "text").ok());
  EXPECT_TRUE(absl::IsNotFound(nowhere.Read(kKey).status()));
  root_.Write("/vramspan", "a file");
  EXPECT_FALSE(files_.Write(kKey, "text").ok());
}

TEST_F(LearnedFilesTest, ThereAreNeverTooMany) {
  PutFile("oldest");
  const auto age = [](const std::string& name, time_t seconds) {
    const utimbuf times = {seconds, seconds};
    ASSERT_EQ(utime(name.c_str(), &times), 0);
  };
  age(path(), 1);
  for (uint64_t key = 1; key < kLearnedFiles.most_files; ++key) {
    ASSERT_TRUE(files_.Write(key, "text").ok());
    age(files_.PathOf(key), static_cast<time_t>(1000 + key));
  }
  // A writer that was killed, long ago and just now; and what nobody here wrote.
  const std::string ours = files_.NameOf(kKey);
  const std::string dead = ours + ".1.1.half", theirs = "a.1.1.half";
  for (const std::string& name : {dead, ours + ".1.2.half", theirs}) {
    root_.Write("/vramspan/learned/" + name, "");
  }
  for (const std::string& name : {dead, theirs}) age(files_.folder() + "/" + name, 1);
  EXPECT_TRUE(files_.Read(kKey).ok());
  ASSERT_TRUE(files_.Write(~uint64_t{0}, "newest").ok());
  EXPECT_TRUE(absl::IsNotFound(files_.Read(kKey).status()));
  const auto all = files_.List().value();
  ASSERT_THAT(all, SizeIs(kLearnedFiles.most_files));
  EXPECT_EQ(all.front().key, ~uint64_t{0});
  EXPECT_EQ(all.front().size, 6u);
  EXPECT_EQ(all.back().key, 1u);
  EXPECT_EQ(Others(), 2u);
  EXPECT_EQ(files_.RemoveAll().value(), kLearnedFiles.most_files);
  EXPECT_THAT(files_.List().value(), SizeIs(0));
  EXPECT_EQ(Others(), 2u);
  age(files_.folder() + "/" + ours + ".1.2.half", 1);
  EXPECT_EQ(files_.RemoveAll().value(), 0u);
  EXPECT_EQ(Others(), 1u) << "what is of nobody any more is gone";
  EXPECT_TRUE(std::filesystem::exists(files_.folder() + "/" + theirs));
}

TEST_F(LearnedFilesTest, OnlyWhatIsNamedAsAHalfIsOne) {
  const std::string ours = files_.NameOf(kKey);
  EXPECT_TRUE(files_.IsHalfName(ours + ".17.9999999999999999999.half"));
  for (const std::string& name :
       {std::string(), std::string(".half"), std::string("a.learned.1.2.half"), ours + ".1.half",
        ours + ".1.x.half", ours + ".1..half", ours + ".-1.2.half", ours + ".1.2.halves",
        ours + ".1.2.3.half", ours}) {
    EXPECT_FALSE(files_.IsHalfName(name)) << name;
  }
}

// Several programs end at once.
TEST_F(LearnedFilesTest, AReaderNeverSeesATornOne) {
  PutFile(std::string(50'000, 'a'));
  std::atomic<int> left{4};
  std::array<std::thread, 4> writers;
  for (size_t i = 0; i < writers.size(); ++i) {
    writers[i] = std::thread([&, i] {
      const std::string text(50'000 + i, static_cast<char>('a' + i));
      for (int n = 0; n < 100; ++n) EXPECT_TRUE(files_.Write(kKey, text).ok());
      --left;
    });
  }
  while (left != 0) {
    // One may lose its only name while it is looked at, each time.
    const StatusOr<std::string> text = files_.Read(kKey);
    if (!text.ok()) {
      EXPECT_TRUE(absl::IsNotFound(text.status())) << text.status();
      continue;
    }
    EXPECT_EQ(text->find_first_not_of(text->front()), std::string::npos);
    EXPECT_EQ(text->size(), 50'000u + static_cast<size_t>(text->front() - 'a'));
  }
  for (std::thread& writer : writers) writer.join();
  EXPECT_EQ(Others(), 0u);
}

TEST(LearnedFilesOfUser, LieInTheCache) {
  const auto now = [](const char* name) -> std::optional<std::string> {
    const char* const value = getenv(name);
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
  };
  const std::optional<std::string> xdg = now("XDG_CACHE_HOME"), home = now("HOME");
  setenv("XDG_CACHE_HOME", "/cache", 1);
  EXPECT_EQ(KeyedFiles::OfUser(kLearnedFiles).value().folder(), "/cache/vramspan/learned");
  setenv("XDG_CACHE_HOME", "relative", 1);
  setenv("HOME", "/home/ada", 1);
  EXPECT_EQ(KeyedFiles::OfUser(kLearnedFiles).value().folder(),
            "/home/ada/.cache/vramspan/learned");
  unsetenv("HOME");
  EXPECT_TRUE(absl::IsNotFound(KeyedFiles::OfUser(kLearnedFiles).status()));
  unsetenv("XDG_CACHE_HOME");
  if (xdg.has_value()) setenv("XDG_CACHE_HOME", xdg->c_str(), 1);
  if (home.has_value()) setenv("HOME", home->c_str(), 1);
}

}  // namespace
}  // namespace vramspan
