#include "runtime/backing/claims_place.h"

#include <absl/cleanup/cleanup.h>
#include <absl/strings/str_cat.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string_view>

namespace vramspan {
namespace {

constexpr char kFolder[] = "vramspan";

Status NotToBeUsed(const std::string& path, std::string_view why) {
  return absl::FailedPreconditionError(absl::StrCat("cannot use ", path, ": ", why));
}

// This user's, and nobody else's to change.
bool IsOurs(const struct stat& s, mode_t kind, mode_t forbidden) {
  return (s.st_mode & S_IFMT) == kind && s.st_uid == geteuid() && (s.st_mode & forbidden) == 0;
}

// Others may hang, or lock for one machine alone.
bool IsLocal(int descriptor) {
  constexpr uint32_t kXfs = 0x58465342, kZfs = 0x2fc12fc1, kRamfs = 0x858458f6;
  struct statfs s;
  if (fstatfs(descriptor, &s) != 0) return false;
  const auto kind = static_cast<uint32_t>(s.f_type);
  return kind == TMPFS_MAGIC || kind == kRamfs || kind == EXT4_SUPER_MAGIC || kind == kXfs ||
         kind == BTRFS_SUPER_MAGIC || kind == OVERLAYFS_SUPER_MAGIC || kind == kZfs ||
         kind == F2FS_SUPER_MAGIC;
}

// `within` a folder, or by its path.
StatusOr<int> OpenFolder(int within, const char* name, const std::string& path, mode_t forbidden) {
  const int flags = O_PATH | O_DIRECTORY | O_CLOEXEC | (within == AT_FDCWD ? 0 : O_NOFOLLOW);
  const int at = openat(within, name, flags);
  if (at < 0) return ClaimsFailure(path, errno);
  auto shut = absl::MakeCleanup([at] { close(at); });
  // Before anything else is asked of it.
  if (!IsLocal(at)) return NotToBeUsed(path, "it may not be on this machine");
  struct stat s;
  // Another user's runtime folder, as after su, is not to be littered.
  if (fstat(at, &s) != 0 || !IsOurs(s, S_IFDIR, forbidden)) {
    return NotToBeUsed(path, "it is not a folder of this user's, or others may change it");
  }
  std::move(shut).Cancel();
  return at;
}

}  // namespace

Status ClaimsFailure(const std::string& path, int error) {
  const std::string text = absl::StrCat("cannot use ", path, ": ", std::strerror(error));
  switch (error) {
    case EMFILE:
    case ENFILE:
    case ENOMEM:
    case EIO:
    case EINTR:
    case EAGAIN:
    case ENOLCK:
      return absl::UnavailableError(text);
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
      return absl::ResourceExhaustedError(text);
    default:
      return absl::FailedPreconditionError(text);
  }
}

ClaimsPlace::ClaimsPlace(const std::string& folder, const std::string& name)
    : folder_(folder), name_(name), path_(absl::StrCat(folder, "/", kFolder, "/", name)) {}

StatusOr<int> ClaimsPlace::Folder() {
  if (opened_.held()) {
    if (const StatusOr<int> at = opened_.Get(); at.ok()) return at;
  }
  VS_ASSIGN_OR_RETURN(const int parent, OpenFolder(AT_FDCWD, folder_.c_str(), folder_, 0));
  const auto shut = absl::MakeCleanup([parent] { close(parent); });
  // Whatever the program's mask says: a folder that nobody can use would stay. Another program may
  // be faster.
  if (mkdirat(parent, kFolder, 0700) == 0) static_cast<void>(fchmodat(parent, kFolder, 0700, 0));
  VS_ASSIGN_OR_RETURN(const int at, OpenFolder(parent, kFolder, absl::StrCat(folder_, "/", kFolder),
                                               S_IWGRP | S_IWOTH));
  opened_.Close();
  opened_.Adopt(at);
  return opened_.Get();
}

StatusOr<int> ClaimsPlace::Open() {
  VS_ASSIGN_OR_RETURN(const int at, Folder());
  const int flags = O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
  const int file = openat(at, name_.c_str(), flags, 0600);
  if (file < 0) return ClaimsFailure(path_, errno);
  struct stat s;
  if (fstat(file, &s) == 0 && IsOurs(s, S_IFREG, 077) && s.st_nlink == 1) {
    if ((s.st_mode & 0600) != 0600) static_cast<void>(fchmod(file, 0600));
    return file;
  }
  close(file);
  return NotToBeUsed(path_, "it is not a file of this user's alone");
}

bool ClaimsPlace::Stat(struct stat* file) const {
  const StatusOr<int> at = opened_.Get();
  return at.ok() && fstatat(*at, name_.c_str(), file, AT_SYMLINK_NOFOLLOW) == 0;
}

}  // namespace vramspan
