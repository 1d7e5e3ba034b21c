#include "tools/broker/server/run_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "tools/broker/server/system_error.h"

namespace vramspan::broker {

StatusOr<Fd> ClaimRunFolder(const std::string& path) {
  // Root's is for everybody to connect in.
  const mode_t mode = geteuid() == 0 ? 0755 : 0700;
  if (mkdir(path.c_str(), mode) != 0 && errno != EEXIST) return SystemError(path);
  Fd folder(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
  if (!folder) return SystemError(path);
  struct stat found = {};
  if (fstat(folder.get(), &found) != 0) return SystemError(path);
  if ((found.st_uid != geteuid() && found.st_uid != 0) || (found.st_mode & 022) != 0) {
    return absl::FailedPreconditionError(
        absl::StrCat(path,
                     ": others may change it, and could stand in for the broker; use another "
                     "--run-directory, or chmod go-w it"));
  }
  if (flock(folder.get(), LOCK_EX | LOCK_NB) == 0) return folder;
  if (errno != EWOULDBLOCK) return SystemError(path);
  return absl::AlreadyExistsError(
      absl::StrCat(path, ": another broker serves here; ask it by `vramspan broker status`"));
}

}  // namespace vramspan::broker
