#include "runtime/api/reading_folder.h"

#include <absl/strings/str_cat.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>

#include "runtime/base/quiet_write.h"

namespace vramspan {
namespace {

constexpr size_t kMostAtOnce = size_t{64} << 10;
constexpr fsblkcnt_t kFreePart = 10;

Status Failed(std::string_view what, int error) {
  const std::string why = absl::StrCat(what, ": ", std::strerror(error));
  return error == ENOENT ? absl::NotFoundError(why) : absl::UnavailableError(why);
}

// Of this user's, and written by nobody else.
bool IsOwn(const struct stat& file) {
  return file.st_uid == geteuid() && (file.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

}  // namespace

Status ReadingFolder::Open(const std::string& path) {
  const int opened = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (opened < 0) return Failed("the folder", errno);
  folder_.Adopt(opened);
  VS_ASSIGN_OR_RETURN(const int now, folder_.Get());
  struct stat folder = {};
  if (fstat(now, &folder) != 0) return Failed("the folder", errno);
  if (IsOwn(folder)) return absl::OkStatus();
  return absl::PermissionDeniedError("others may write there");
}

bool ReadingFolder::HasRoom() const {
  const StatusOr<int> now = folder_.Get();
  struct statvfs system = {};
  return now.ok() && fstatvfs(*now, &system) == 0 && system.f_bavail > system.f_blocks / kFreePart;
}

Status ReadingFolder::OpenFile(const char* name, int flags, OwnDescriptor* file) const {
  VS_ASSIGN_OR_RETURN(const int now, folder_.Get());
  const int opened = openat(now, name, flags | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (opened < 0) return Failed(name, errno);
  file->Adopt(opened);
  VS_ASSIGN_OR_RETURN(const int mine, file->Get());
  struct stat found = {};
  if (fstat(mine, &found) != 0) return Failed(name, errno);
  if (S_ISREG(found.st_mode) && IsOwn(found)) return absl::OkStatus();
  return absl::PermissionDeniedError(absl::StrCat(name, ": it is no file of this user's alone"));
}

Status ReadingFolder::Append(const char* name, std::string_view text) const {
  OwnDescriptor file;
  VS_RETURN_IF_ERROR(OpenFile(name, O_WRONLY | O_APPEND, &file));
  VS_ASSIGN_OR_RETURN(const int now, file.Get());
  const int error = WriteQuietly(now, {text}, std::chrono::milliseconds(0));
  return error == 0 ? absl::OkStatus() : Failed(name, error);
}

StatusOr<std::string> ReadingFolder::Read(const char* name, size_t offset) const {
  OwnDescriptor file;
  VS_RETURN_IF_ERROR(OpenFile(name, O_RDONLY, &file));
  VS_ASSIGN_OR_RETURN(const int now, file.Get());
  std::string text(kMostAtOnce, '\0');
  ssize_t got = 0;
  do {
    got = pread(now, text.data(), text.size(), static_cast<off_t>(offset));
  } while (got < 0 && errno == EINTR);
  if (got < 0) return Failed(name, errno);
  text.resize(static_cast<size_t>(got));
  return text;
}

}  // namespace vramspan
