#include "tools/prove/nameless_file.h"

#include <absl/strings/str_cat.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "runtime/base/clean_text.h"

namespace vramspan::prove {
namespace {

constexpr size_t kMostSaid = 200;
constexpr int kAboveThose = 10;
// Of newer kernels, some of which refuse files that could be run.
constexpr unsigned kNotToBeRun = 8;

int InMemory() {
  const int fd = memfd_create("vramspan", MFD_CLOEXEC | kNotToBeRun);
  return fd >= 0 || errno != EINVAL ? fd : memfd_create("vramspan", MFD_CLOEXEC);
}

int In(const std::filesystem::path& folder) {
  std::string path = folder / "vramspan-prove-XXXXXX";
  const int fd = mkostemp(path.data(), O_CLOEXEC);
  if (fd >= 0) unlink(path.c_str());
  return fd;
}

}  // namespace

NamelessFile::NamelessFile(bool in_memory) {
  std::error_code error;
  std::filesystem::path folder = std::filesystem::temp_directory_path(error);
  if (error) folder = "/tmp";
  place_ = in_memory ? "memory" : CleanText(folder.string());
  const int low = in_memory ? InMemory() : In(folder);
  if (low >= 0) {
    // None of the numbers that a child has: old C libraries would close it there.
    fd_ = fcntl(low, F_DUPFD_CLOEXEC, kAboveThose);
    close(low);
  }
  if (fd_ < 0) {
    why_ = absl::StrCat("no file can be made in ", place_, ": ", std::strerror(errno));
  }
}

NamelessFile::~NamelessFile() {
  if (fd_ >= 0) close(fd_);
}

Status NamelessFile::status() const {
  return why_.empty() ? absl::OkStatus() : absl::ResourceExhaustedError(why_);
}

Status NamelessFile::Write(std::string_view bytes) const {
  while (!bytes.empty()) {
    const ssize_t wrote = write(fd_, bytes.data(), bytes.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) {
      return absl::ResourceExhaustedError(
          absl::StrCat("a file in ", place_, " could not be written: ", std::strerror(errno)));
    }
    bytes.remove_prefix(static_cast<size_t>(wrote));
  }
  return absl::OkStatus();
}

std::string NamelessFile::FirstLine() const {
  std::string text(kMostSaid, '\0');
  const ssize_t got = pread(fd_, text.data(), text.size(), 0);
  text.resize(got > 0 ? static_cast<size_t>(got) : 0);
  text.resize(std::min(text.find('\n'), text.size()));
  return CleanText(text);
}

bool NamelessFile::MayBeCut(uint64_t most) const {
  struct stat file = {};
  struct statvfs place = {};
  if (fstat(fd_, &file) != 0 || static_cast<uint64_t>(file.st_size) >= most) return true;
  // Some, as that of files in memory, do not say how many there are.
  return fstatvfs(fd_, &place) == 0 && place.f_blocks != 0 &&
         (geteuid() == 0 ? place.f_bfree : place.f_bavail) == 0;
}

}  // namespace vramspan::prove
