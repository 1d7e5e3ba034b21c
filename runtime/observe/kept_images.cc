#include "runtime/observe/kept_images.h"

#include <absl/strings/str_cat.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "runtime/base/clean_text.h"
#include "runtime/base/log.h"
#include "runtime/base/own_descriptor.h"
#include "runtime/base/quiet_write.h"
#include "runtime/observe/image_hash.h"
#include "runtime/observe/readable.h"

namespace vramspan {
namespace {

constexpr size_t kWritten = size_t{1} << 20;
constexpr int kMostNames = 100;

Status Because(int error) { return absl::UnavailableError(std::strerror(error)); }

// Whatever becomes of the path meanwhile, this is the folder that was looked at.
class ImagesFolder {
 public:
  explicit ImagesFolder(const std::string& path)
      : fd_(open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)) {}
  ~ImagesFolder() {
    if (fd_ >= 0) close(fd_);
  }
  ImagesFolder(const ImagesFolder&) = delete;
  ImagesFolder& operator=(const ImagesFolder&) = delete;

  // Others could put images there that this user then trusts.
  Status CheckIsOwn() const {
    struct stat folder = {};
    if (fd_ < 0 || fstat(fd_, &folder) != 0) return Because(errno);
    if (folder.st_uid == geteuid() && (folder.st_mode & (S_IWGRP | S_IWOTH)) == 0) {
      return absl::OkStatus();
    }
    return absl::PermissionDeniedError("others may write there");
  }
  // A file, and no link to one. Of another size it is what a machine left that lost its power.
  bool Has(const std::string& name, uint64_t size) const {
    struct stat file = {};
    return fstatat(fd_, name.c_str(), &file, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(file.st_mode) &&
           static_cast<uint64_t>(file.st_size) == size;
  }
  // A file that was not there; -1 and errno otherwise. What killed programs left has such names.
  int Make(const std::string& begin, std::string* name) const {
    for (int i = 0; i < kMostNames; ++i) {
      *name = absl::StrCat(begin, "-", getpid(), "-", i);
      const int fd = openat(fd_, name->c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
      // Whatever the program's mask says.
      if (fd >= 0) static_cast<void>(fchmod(fd, 0600));
      if (fd >= 0 || errno != EEXIST) return fd;
    }
    return -1;
  }
  void Remove(const std::string& name) const { unlinkat(fd_, name.c_str(), 0); }
  Status Rename(const std::string& from, const std::string& to) const {
    if (renameat(fd_, from.c_str(), fd_, to.c_str()) == 0) return absl::OkStatus();
    return Because(errno);
  }

 private:
  const int fd_;
};

// The program may close the number at any time, and then it is another file's.
Status WriteAll(const OwnDescriptor& file, const char* bytes, size_t size) {
  while (size != 0) {
    VS_ASSIGN_OR_RETURN(const int fd, file.Get());
    const ssize_t written = write(fd, bytes, size);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return Because(written < 0 ? errno : ENOSPC);
    bytes += written;
    size -= static_cast<size_t>(written);
  }
  return absl::OkStatus();
}

Status WriteImage(const OwnDescriptor& file, const char* image, uint64_t size) {
  const auto block = std::make_unique<char[]>(kWritten);
  QuietWrites quiet;
  while (size != 0) {
    const size_t part = std::min<uint64_t>(size, kWritten);
    if (ReadIfMapped(image, block.get(), part) != part) return Because(EFAULT);
    const Status written = WriteAll(file, block.get(), part);
    if (!written.ok()) {
      quiet.Failed(EFBIG);  // No signal but that one comes of a file.
      return written;
    }
    image += part;
    size -= part;
  }
  return absl::OkStatus();
}

}  // namespace

KeptImages* KeptImages::Get() {
  // Not where the program has more rights than who started it.
  static const char* const folder = secure_getenv("VRAMSPAN_IMAGES");
  if (folder == nullptr || *folder == '\0') return nullptr;
  static KeptImages* const kept = new KeptImages(folder);  // Modules outlive what ends at exit.
  return kept;
}

void KeptImages::Keep(const void* image, uint64_t hash) {
  const int before = errno;
  const Status kept = TryToKeep(image, hash);
  if (!kept.ok() && !said_.exchange(true)) {
    Log(LogLevel::kError, absl::StrCat("VRAMSPAN_IMAGES: ", CleanText(folder_), ": ",
                                       kept.message(), "; code is missing there"));
  }
  errno = before;
}

Status KeptImages::TryToKeep(const void* image, uint64_t hash) {
  image = UnwrappedImage(image);
  const uint64_t size = SizeOfImage(image);
  if (image == nullptr) return absl::OkStatus();
  if (hash == 0) return absl::UnavailableError("an image is too large, or cannot be read");
  if (size == 0) return absl::OkStatus();
  if (!folder_.starts_with('/')) {
    return absl::InvalidArgumentError("it does not begin with /, and the program may go elsewhere");
  }
  const ImagesFolder folder(folder_);
  VS_RETURN_IF_ERROR(folder.CheckIsOwn());
  const std::string name = absl::StrCat(absl::Hex(hash, absl::kZeroPad16), ".image");
  if (folder.Has(name, size)) return absl::OkStatus();
  if (kept_.fetch_add(size) + size > most_.value) {
    return absl::ResourceExhaustedError(
        absl::StrCat("a process keeps ", most_.value >> 20, " MiB at most"));
  }
  // Others may keep it at the same time: whole files appear, and each is the same.
  std::string made;
  const int fd = folder.Make(".new-" + name, &made);
  if (fd < 0) return Because(errno);
  OwnDescriptor file;
  file.Adopt(fd);
  Status written = WriteImage(file, static_cast<const char*>(image), size);
  if (written.ok() && HashOfImage(image) != hash) {
    written = absl::UnavailableError("an image has changed while it was kept");
  }
  if (written.ok()) written = folder.Rename(made, name);
  if (!written.ok()) folder.Remove(made);
  return written;
}

}  // namespace vramspan
