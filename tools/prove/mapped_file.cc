#include "tools/prove/mapped_file.h"

#include <absl/strings/str_cat.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "runtime/base/clean_text.h"

namespace vramspan::prove {

StatusOr<MappedFile> MappedFile::Open(const std::string& path) {
  // A pipe without a writer is refused below, and not waited for.
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) {
    const std::string why = absl::StrCat(CleanText(path), ": ", std::strerror(errno));
    return errno == ENOENT ? absl::NotFoundError(why) : absl::FailedPreconditionError(why);
  }
  StatusOr<MappedFile> file = Of(fd, path);
  close(fd);
  return file;
}

StatusOr<MappedFile> MappedFile::Of(int fd, const std::string& path) {
  struct stat file = {};
  void* data = nullptr;
  std::string why;
  if (fstat(fd, &file) != 0) {
    why = std::strerror(errno);
  } else if (!S_ISREG(file.st_mode)) {
    why = "it is not a file";
  } else if (file.st_size != 0) {
    data = mmap(nullptr, static_cast<size_t>(file.st_size), PROT_READ, MAP_PRIVATE, fd, 0);
    if (data == MAP_FAILED) why = std::strerror(errno);
  }
  if (!why.empty()) {
    return absl::FailedPreconditionError(absl::StrCat(CleanText(path), ": ", why));
  }
  return MappedFile(data, static_cast<size_t>(file.st_size));
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) munmap(data_, size_);
}

}  // namespace vramspan::prove
