#include "runtime/base/user_folder.h"

#include <absl/strings/str_cat.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string_view>

namespace vramspan {
namespace {

constexpr mode_t kOthersMayChange = S_IWGRP | S_IWOTH;
constexpr mode_t kOthersMayDoAnything = 077;

Status NotToBeUsed(const std::string& path, std::string_view why) {
  return absl::FailedPreconditionError(absl::StrCat("cannot use ", path, ": ", why));
}

// This user's, and nobody else's to change.
bool IsOurs(const struct stat& s, mode_t kind, mode_t forbidden) {
  return (s.st_mode & S_IFMT) == kind && s.st_uid == geteuid() && (s.st_mode & forbidden) == 0;
}

// Everybody has things there, and nobody may take another's away.
bool IsForAll(const struct stat& s) {
  return S_ISDIR(s.st_mode) && s.st_uid == 0 && (s.st_mode & S_ISVTX) != 0;
}

// Others may hang, or lock for one machine alone.
Status CheckLocal(int descriptor, const std::string& path) {
  constexpr uint32_t kXfs = 0x58465342, kZfs = 0x2fc12fc1, kRamfs = 0x858458f6;
  struct statfs s;
  if (fstatfs(descriptor, &s) != 0) return UserFileFailure(path, errno);
  const auto kind = static_cast<uint32_t>(s.f_type);
  if (kind == TMPFS_MAGIC || kind == kRamfs || kind == EXT4_SUPER_MAGIC || kind == kXfs ||
      kind == BTRFS_SUPER_MAGIC || kind == OVERLAYFS_SUPER_MAGIC || kind == kZfs ||
      kind == F2FS_SUPER_MAGIC) {
    return absl::OkStatus();
  }
  return NotToBeUsed(path, "it may not be on this machine");
}

// `within` a folder, or by its path.
template <typename IsGood>
StatusOr<OpenedFolder> Open(int within, const std::string& name, const std::string& path,
                            IsGood is_good) {
  const int flags = O_PATH | O_DIRECTORY | O_CLOEXEC | (within == AT_FDCWD ? 0 : O_NOFOLLOW);
  const int at = openat(within, name.c_str(), flags);
  if (at < 0) return UserFileFailure(path, errno);
  OpenedFolder opened(at);
  // Before anything else is asked of it.
  VS_RETURN_IF_ERROR(CheckLocal(at, path));
  struct stat s;
  if (fstat(at, &s) != 0) return UserFileFailure(path, errno);
  if (!opened.held()) return UserFileFailure(path, EBADF);
  // Another user's runtime folder, as after su, is not to be littered.
  if (!is_good(s)) {
    return NotToBeUsed(path, "it is not a folder of this user's, or others may change it");
  }
  return opened;
}

StatusOr<OpenedFolder> OpenFolder(const UserFolder& folder, bool make) {
  VS_ASSIGN_OR_RETURN(const OpenedFolder parent,
                      Open(AT_FDCWD, folder.parent, folder.parent, [&](const struct stat& s) {
                        return folder.shared ? IsForAll(s) : IsOurs(s, S_IFDIR, 0);
                      }));
  const char* const name = folder.name.c_str();
  // Whatever the program's mask says: a folder that nobody can use would stay. Another program may
  // be faster.
  if (make && faccessat(parent.at(), name, F_OK, 0) != 0 && mkdirat(parent.at(), name, 0700) == 0) {
    static_cast<void>(fchmodat(parent.at(), name, 0700, 0));
  }
  const mode_t forbidden = folder.shared ? kOthersMayDoAnything : kOthersMayChange;
  return Open(parent.at(), folder.name, folder.path(),
              [forbidden](const struct stat& s) { return IsOurs(s, S_IFDIR, forbidden); });
}

StatusOr<int> OpenFile(int folder, const std::string& name, const std::string& path, int how) {
  const int file =
      openat(folder, name.c_str(), how | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0600);
  if (file < 0) return UserFileFailure(path, errno);
  const FileIdentity opened = FileIdentity::Of(file);
  struct stat s = {};
  if (fstat(file, &s) == 0 && IsOurs(s, S_IFREG, kOthersMayDoAnything) && s.st_nlink == 1) {
    if ((s.st_mode & 0600) != 0600) static_cast<void>(fchmod(file, 0600));
    return file;
  }
  if (!(FileIdentity::Of(file) == opened)) return UserFileFailure(path, EBADF);
  close(file);
  if (S_ISREG(s.st_mode) && s.st_nlink == 0) {
    return absl::NotFoundError(absl::StrCat(path, " was taken away just now"));
  }
  return NotToBeUsed(path, "it is not a file of this user's alone");
}

}  // namespace

Status UserFileFailure(const std::string& path, int error) {
  const std::string text = absl::StrCat("cannot use ", path, ": ", std::strerror(error));
  switch (error) {
    case EMFILE:
    case ENFILE:
    case ENOMEM:
    case EIO:
    case EINTR:
    case EAGAIN:
    case ENOLCK:
    case EBADF:  // The program closes what it does not know.
      return absl::UnavailableError(text);
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
      return absl::ResourceExhaustedError(text);
    default:
      return absl::FailedPreconditionError(text);
  }
}

OpenedFolder::~OpenedFolder() {
  if (held()) close(at_);
}

StatusOr<OpenedFolder> OpenUserFolder(const UserFolder& folder) {
  return OpenFolder(folder, /*make=*/false);
}

StatusOr<OpenedFolder> MakeUserFolder(const UserFolder& folder) {
  return OpenFolder(folder, /*make=*/true);
}

Status CheckOnThisMachine(const std::string& path) {
  return Open(AT_FDCWD, path, path, [](const struct stat&) { return true; }).status();
}

StatusOr<int> OpenUserFile(int folder, const std::string& name, const std::string& path) {
  return OpenFile(folder, name, path, O_RDWR | O_CREAT);
}

StatusOr<int> ReadUserFile(int folder, const std::string& name, const std::string& path) {
  return OpenFile(folder, name, path, O_RDONLY);
}

}  // namespace vramspan
