#include "runtime/observe/kept_images.h"

#include <absl/strings/str_cat.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

#include "runtime/base/log.h"
#include "runtime/observe/image_hash.h"
#include "runtime/observe/readable.h"

namespace vramspan {
namespace {

constexpr size_t kWritten = size_t{1} << 20;

const char* Folder() {
  static const char* const folder = std::getenv("VRAMSPAN_IMAGES");
  return folder != nullptr && *folder != '\0' ? folder : nullptr;
}

void SayOnce(const std::string& what) {
  static std::atomic<bool> said{false};
  if (!said.exchange(true)) {
    Log(LogLevel::kWarning, absl::StrCat("VRAMSPAN_IMAGES: ", what, "; code is missing there"));
  }
}

bool WriteAll(int fd, const char* bytes, size_t size) {
  while (size != 0) {
    const ssize_t written = write(fd, bytes, size);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    bytes += written;
    size -= static_cast<size_t>(written);
  }
  return true;
}

// False: errno says why, or the image is not all there.
bool Write(int fd, const char* image, uint64_t size) {
  const auto block = std::make_unique<char[]>(kWritten);
  while (size != 0) {
    const size_t part = std::min<uint64_t>(size, kWritten);
    errno = EFAULT;
    if (ReadIfMapped(image, block.get(), part) != part) return false;
    if (!WriteAll(fd, block.get(), part)) return false;
    image += part;
    size -= part;
  }
  return true;
}

}  // namespace

bool KeepsImages() { return Folder() != nullptr; }

void KeepImage(const void* image, uint64_t hash) {
  static std::atomic<uint64_t> kept{0};
  image = UnwrappedImage(image);
  const uint64_t size = SizeOfImage(image);
  if (hash == 0 || size == 0) return;
  const std::string path = absl::StrCat(Folder(), "/", absl::Hex(hash, absl::kZeroPad16), ".image");
  if (access(path.c_str(), F_OK) == 0) return;
  if (kept.fetch_add(size) + size > kMostKept.value) {
    return SayOnce(absl::StrCat("a process keeps ", kMostKept.value >> 30, " GiB at most"));
  }
  // Others may keep it at the same time: whole files appear, and each is the same.
  std::string made = absl::StrCat(Folder(), "/.new-XXXXXX");
  const int fd = mkostemp(made.data(), O_CLOEXEC);
  if (fd < 0) return SayOnce(absl::StrCat(Folder(), ": ", std::strerror(errno)));
  const bool whole = Write(fd, static_cast<const char*>(image), size);
  const int error = errno;
  if (close(fd) != 0 || !whole || std::rename(made.c_str(), path.c_str()) != 0) {
    unlink(made.c_str());
    SayOnce(absl::StrCat(path, ": ", std::strerror(whole ? errno : error)));
  }
}

}  // namespace vramspan
