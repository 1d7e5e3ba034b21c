// Images that a process loads, as files: in folders of all kinds, and beside all kinds of trouble.
#include "runtime/observe/kept_images.h"

#include <absl/strings/str_cat.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>
#include <vector>

#include "runtime/base/log.h"
#include "runtime/observe/image_hash.h"
#include "tests/observe/decoder_fixture.h"
#include "tests/observe/fat_binary.h"

namespace vramspan {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr int kOfTheProgram = 77;  // In errno.

class KeptImagesTest : public testing::Test {
 protected:
  KeptImagesTest() {
    std::string name = (fs::temp_directory_path() / "vramspan-kept-XXXXXX").string();
    VS_CHECK(mkdtemp(name.data()) != nullptr);
    folder_ = name;
  }
  ~KeptImagesTest() override {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }

  static std::string PathOf(const std::string& folder, uint64_t hash) {
    return absl::StrCat(folder, "/", absl::Hex(hash, absl::kZeroPad16), ".image");
  }
  std::string PathOf(uint64_t hash) const { return PathOf(folder_, hash); }
  static std::string Text(const std::string& path) {
    std::ostringstream text;
    text << std::ifstream(path, std::ios::binary).rdbuf();
    return text.str();
  }
  // All that is there: what was begun and not ended, too.
  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_)) {
      names.push_back(entry.path().filename().string());
    }
    return names;
  }
  // What is said of it.
  std::string Keep(KeptImages* kept, const void* image, uint64_t hash) {
    testing::internal::CaptureStderr();
    RememberStderr();
    errno = kOfTheProgram;
    kept->Keep(image, hash);
    EXPECT_EQ(errno, kOfTheProgram);
    std::string said = testing::internal::GetCapturedStderr();
    RememberStderr();
    return said;
  }

  std::string folder_;
  const std::string image_ = FatOf(std::string((size_t{3} << 20) + 5, 'c'));
  const uint64_t hash_ = HashOfImage(image_.data());
};

TEST_F(KeptImagesTest, KeepsWhatWasHashed) {
  KeptImages kept(folder_);
  EXPECT_EQ(Keep(&kept, image_.data(), hash_), "");
  EXPECT_EQ(Text(PathOf(hash_)), image_);
  struct stat file = {};
  ASSERT_EQ(stat(PathOf(hash_).c_str(), &file), 0);
  EXPECT_EQ(file.st_mode & 0777, 0600u) << "it is nobody else's business";
  const auto& elf = observe_kernels_images();
  EXPECT_EQ(Keep(&kept, elf.host, HashOfImage(elf.host)), "");
  const std::string found = Text(PathOf(HashOfImage(elf.host)));
  EXPECT_EQ(HashOfImage(found.data()), HashOfImage(elf.host));
  EXPECT_EQ(Names().size(), 2u);
}

TEST_F(KeptImagesTest, AWrapperIsKeptAsWhatItWraps) {
  const struct {
    uint32_t magic = 0x466243b1, version = 1;
    const void* data;
    void* names = nullptr;
  } wrapper{.data = image_.data()};
  KeptImages kept(folder_);
  EXPECT_EQ(Keep(&kept, &wrapper, HashOfImage(&wrapper)), "");
  EXPECT_EQ(Text(PathOf(hash_)), image_);
}

TEST_F(KeptImagesTest, WhatIsNoMachineCodeIsNotKept) {
  KeptImages kept(folder_);
  const char ptx[] = "//\n.version 8.0\n.target sm_90\n";
  EXPECT_EQ(Keep(&kept, ptx, HashOfImage(ptx)), "");
  EXPECT_EQ(Keep(&kept, nullptr, 0), "") << "from a file";
  EXPECT_THAT(Keep(&kept, image_.data(), 0), HasSubstr("too large, or cannot be read"));
  EXPECT_THAT(Names(), IsEmpty());
}

TEST_F(KeptImagesTest, ManyMayKeepTheSameAtATime) {
  KeptImages here(folder_), there(folder_);
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&, i] { (i % 2 == 0 ? here : there).Keep(image_.data(), hash_); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(Names().size(), 1u);
  EXPECT_EQ(Text(PathOf(hash_)), image_);
}

TEST_F(KeptImagesTest, WhatIsThereStays) {
  const std::string before(image_.size(), 'b');
  std::ofstream(PathOf(hash_)) << before;
  // What a program left that was killed, and had this number.
  const std::string other = FatOf("other");
  const uint64_t hash = HashOfImage(other.data());
  const std::string left = folder_ + "/.new-" + fs::path(PathOf(hash)).filename().string() + "-" +
                           std::to_string(getpid()) + "-0";
  std::ofstream(left) << "half";
  KeptImages kept(folder_);
  EXPECT_EQ(Keep(&kept, image_.data(), hash_), "");
  EXPECT_EQ(Keep(&kept, other.data(), hash), "");
  EXPECT_EQ(Text(PathOf(hash_)), before);
  EXPECT_EQ(Text(PathOf(hash)), other);
  fs::resize_file(PathOf(hash), 1);
  EXPECT_EQ(Keep(&kept, other.data(), hash), "");
  EXPECT_EQ(Text(PathOf(hash)), other) << "it was not whole";
  EXPECT_EQ(Text(left), "half");
}

TEST_F(KeptImagesTest, ALinkIsReplacedAndNotFollowed) {
  const std::string victim = folder_ + "/victim";
  std::ofstream(victim) << "precious";
  fs::create_symlink(victim, PathOf(hash_));
  KeptImages kept(folder_);
  EXPECT_EQ(Keep(&kept, image_.data(), hash_), "");
  EXPECT_EQ(Text(victim), "precious");
  EXPECT_TRUE(fs::is_regular_file(fs::symlink_status(PathOf(hash_))));
  EXPECT_EQ(Text(PathOf(hash_)), image_);
}

TEST_F(KeptImagesTest, AFolderWhereOthersMayWriteIsRefusedInOneLine) {
  ASSERT_EQ(chmod(folder_.c_str(), 0777), 0);
  KeptImages kept(folder_);
  EXPECT_EQ(Keep(&kept, image_.data(), hash_),
            "vramspan: VRAMSPAN_IMAGES: " + folder_ +
                ": others may write there; code is missing there\n");
  EXPECT_EQ(Keep(&kept, image_.data(), hash_), "") << "said once";
  EXPECT_THAT(Names(), IsEmpty());
}

TEST_F(KeptImagesTest, AFolderThatIsNotThereIsSaid) {
  std::ofstream(folder_ + "/file") << "no folder";
  const struct {
    std::string folder, why;
  } cases[] = {{folder_ + "/none", "No such file or directory"},
               {folder_ + "/file", "Not a directory"},
               {"images", "it does not begin with /"},
               {"", "it does not begin with /"},
               {folder_ + "/\x1b[31m", "No such file"}};
  for (const auto& c : cases) {
    KeptImages kept(c.folder);
    EXPECT_THAT(Keep(&kept, image_.data(), hash_), AllOf(HasSubstr(c.why), Not(HasSubstr("\x1b"))));
  }
  EXPECT_THAT(Names(), ElementsAre("file"));
}

TEST_F(KeptImagesTest, AnImageThatChangesOrVanishesLeavesNothing) {
  KeptImages kept(folder_);
  EXPECT_THAT(Keep(&kept, image_.data(), hash_ ^ 1), HasSubstr("has changed while it was kept"));
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  char* const pages = static_cast<char*>(
      mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(pages, MAP_FAILED);
  ASSERT_EQ(mprotect(pages + page, page, PROT_NONE), 0);
  const std::string fat = FatOf("code", page);
  std::memcpy(pages + page - fat.size(), fat.data(), fat.size());
  KeptImages other(folder_);
  EXPECT_THAT(Keep(&other, pages + page - fat.size(), 5), HasSubstr("Bad address"));
  EXPECT_THAT(Names(), IsEmpty());
  munmap(pages, 2 * page);
}

TEST_F(KeptImagesTest, NoMoreThanSoMuch) {
  KeptImages kept(folder_, MiB(4));
  EXPECT_EQ(Keep(&kept, image_.data(), hash_), "");
  const std::string other = FatOf(std::string(size_t{2} << 20, 'd'));
  EXPECT_THAT(Keep(&kept, other.data(), HashOfImage(other.data())),
              HasSubstr("a process keeps 4 MiB at most"));
  EXPECT_EQ(Names().size(), 1u);
}

// A full disk is the same, but for the signal.
TEST_F(KeptImagesTest, ALimitOnFilesKillsNobodyAndLeavesNothing) {
  const auto limited = [&] {
    signal(SIGXFSZ, SIG_DFL);
    const rlimit limit{size_t{2} << 20, RLIM_INFINITY};
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) _exit(1);
    KeptImages(folder_).Keep(image_.data(), hash_);
    sigset_t pending;
    sigpending(&pending);
    _exit(Names().empty() && sigismember(&pending, SIGXFSZ) == 0 ? 0 : 2);
  };
  RememberStderr();
  EXPECT_EXIT(limited(), testing::ExitedWithCode(0), "");
}

// The program may open them at any time, and its output must not get into an image.
TEST_F(KeptImagesTest, WorksWithoutStandardFilesAndLeavesNoneOpen) {
  const auto closed = [&] {
    for (const int fd : {0, 1, 2}) close(fd);
    KeptImages(folder_).Keep(image_.data(), hash_);
    _exit(Text(PathOf(hash_)) == image_ && open("/dev/null", O_RDONLY) == 0 ? 0 : 2);
  };
  EXPECT_EXIT(closed(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace vramspan
