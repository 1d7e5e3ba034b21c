#include "tools/broker/server/run_folder.h"

#include <absl/strings/str_cat.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string_view>
#include <system_error>

#include "tools/broker/control/run_directory.h"
#include "tools/broker/server/system_error.h"

namespace vramspan::broker {
namespace {

constexpr mode_t kOthersWrite = S_IWGRP | S_IWOTH;

bool IsOurs(const struct stat& found) { return found.st_uid == geteuid() || found.st_uid == 0; }

Status Unsafe(std::string_view path) {
  return absl::FailedPreconditionError(
      absl::StrCat(path,
                   ": others may change it, and could stand in for the broker; use another "
                   "--run-directory, or chmod go-w it"));
}

// Whoever may rename a folder on the way could put another in its place.
Status LookAtParents(const std::string& path) {
  std::error_code error;
  std::filesystem::path at = std::filesystem::canonical(path, error);
  if (error) return SystemError(path, error.value());
  while (at != at.root_path()) {
    at = at.parent_path();
    struct stat found = {};
    if (stat(at.c_str(), &found) != 0) return SystemError(at.string());
    const bool sticky = (found.st_mode & S_ISVTX) != 0;
    if (!IsOurs(found) || ((found.st_mode & kOthersWrite) != 0 && !sticky)) {
      return Unsafe(at.string());
    }
  }
  return absl::OkStatus();
}

// The folder itself may be locked by whoever can read it: a file in it that is ours alone.
StatusOr<Fd> Lock(const Fd& folder, const std::string& path) {
  Fd file(openat(folder.get(), "lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file) return SystemError(absl::StrCat(path, "/lock"));
  if (flock(file.get(), LOCK_EX | LOCK_NB) == 0) return file;
  if (errno != EWOULDBLOCK) return SystemError(path);
  return absl::AlreadyExistsError(
      absl::StrCat(path, ": another broker serves here; ask it by `vramspan broker status`"));
}

// Root's are for everybody to connect in.
mode_t ModeForClients() { return geteuid() == 0 ? 0755 : 0700; }

// One that others can change is refused; its parents are not looked at.
StatusOr<Fd> MakeFolder(const std::string& path, mode_t mode) {
  const bool made = mkdir(path.c_str(), mode) == 0;
  if (!made && errno != EEXIST) return SystemError(absl::StrCat("cannot make the folder ", path));
  Fd folder(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
  if (!folder) return SystemError(path);
  struct stat found = {};
  if (fstat(folder.get(), &found) != 0) return SystemError(path);
  if (!IsOurs(found) || (found.st_mode & kOthersWrite) != 0) return Unsafe(path);
  // Whatever the umask is.
  if (made && fchmod(folder.get(), mode) != 0) return SystemError(path);
  return folder;
}

}  // namespace

StatusOr<Fd> ClaimRunFolder(const std::string& path) {
  VS_ASSIGN_OR_RETURN(const Fd folder, MakeFolder(path, ModeForClients()));
  VS_RETURN_IF_ERROR(LookAtParents(path));
  return Lock(folder, path);
}

Status MakePrivateFolder(const std::string& path) { return MakeFolder(path, 0700).status(); }

Status MakeClientsFolder(const std::string& path) {
  VS_RETURN_IF_ERROR(MakeFolder(path + kClientsFolder, ModeForClients()).status());
  const std::string link = path + kBrokerSocket;
  if (unlink(link.c_str()) != 0 && errno != ENOENT) return SystemError(link);
  // From its own folder on: who has mounted that elsewhere finds it, too.
  if (symlink(&kClientsSocket[1], link.c_str()) != 0) return SystemError(link);
  return absl::OkStatus();
}

}  // namespace vramspan::broker
