#include "runtime/base/small_file.h"

#include <absl/strings/str_cat.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>

#include "runtime/base/quiet_write.h"

namespace vramspan {

StatusOr<std::string> ReadSmallFile(const std::string& path, size_t most) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0) {
    const int error = errno;
    const std::string why = absl::StrCat("cannot read ", path, ": ", std::strerror(error));
    return error == ENOENT ? absl::NotFoundError(why) : absl::FailedPreconditionError(why);
  }
  std::string text(most + 1, '\0');
  size_t have = 0;
  while (have < text.size()) {
    const ssize_t got = read(fd, text.data() + have, text.size() - have);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      const int error = errno;
      close(fd);
      return absl::FailedPreconditionError(
          absl::StrCat("cannot read ", path, ": ", std::strerror(error)));
    }
    if (got == 0) break;
    have += static_cast<size_t>(got);
  }
  close(fd);
  if (have > most) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, " is larger than ", most, " bytes, so vramspan did not write it"));
  }
  text.resize(have);
  return text;
}

Status AppendToFile(const std::string& path, std::string_view text) {
  const auto refuse = [&](std::string_view why) {
    return absl::FailedPreconditionError(absl::StrCat("cannot write to ", path, ": ", why));
  };
  const int fd =
      open(path.c_str(),
           O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0666);
  if (fd < 0) {
    return refuse(errno == ELOOP ? "it is a link, which is not followed; name the file itself"
                                 : std::strerror(errno));
  }
  struct stat found;
  Status status;
  if (fstat(fd, &found) != 0 || !S_ISREG(found.st_mode)) {
    status = refuse("it is not a regular file");
  } else if (const int error = WriteQuietly(fd, {text}, std::chrono::milliseconds(0)); error != 0) {
    status = refuse(std::strerror(error));
  }
  if (close(fd) != 0 && status.ok()) status = refuse(std::strerror(errno));
  return status;
}

}  // namespace vramspan
