#include "tools/simcuda/memory/huge_file.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace simcuda::memory {
namespace {

// linux/mount.h, which some distributions' headers are older than.
constexpr unsigned kCloseOnExec = 1;  // FSOPEN_CLOEXEC, FSMOUNT_CLOEXEC
constexpr unsigned kSetString = 1;    // FSCONFIG_SET_STRING
constexpr unsigned kCreate = 6;       // FSCONFIG_CMD_CREATE

// A file system in memory that is mounted nowhere: it ends with the last file of it.
int MountHuge() {
  const long system = syscall(SYS_fsopen, "tmpfs", kCloseOnExec);
  if (system < 0) return -1;
  long mount = -1;
  if (syscall(SYS_fsconfig, system, kSetString, "huge", "always", 0) == 0 &&
      syscall(SYS_fsconfig, system, kSetString, "size", "0", 0) == 0 &&
      syscall(SYS_fsconfig, system, kCreate, nullptr, nullptr, 0) == 0) {
    mount = syscall(SYS_fsmount, system, kCloseOnExec, 0u);
  }
  close(static_cast<int>(system));
  return static_cast<int>(mount);
}

}  // namespace

int CreateHugeFile(const std::string& label) {
  const int mount = MountHuge();
  if (mount < 0) return -1;
  // Programs tell memory from files by this name.
  const std::string name = "memfd:" + label;
  const int file = openat(mount, name.c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
  if (file >= 0) unlinkat(mount, name.c_str(), 0);
  close(mount);
  return file;
}

}  // namespace simcuda::memory
