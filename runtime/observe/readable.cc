#include "runtime/observe/readable.h"

#include <absl/strings/str_cat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>

#include "runtime/base/log.h"

namespace vramspan {

size_t ReadIfMapped(const void* from, void* to, size_t size) {
  const iovec local = {to, size};
  const iovec remote = {const_cast<void*>(from), size};
  const ssize_t got = process_vm_readv(getpid(), &local, 1, &remote, 1, 0);
  if (got >= 0) return static_cast<size_t>(got);
  static std::atomic<bool> told{false};
  if (errno != EFAULT && !told.exchange(true)) {
    Log(LogLevel::kWarning,
        absl::StrCat(
            "process_vm_readv failed (", strerror(errno),
            "), so copies are not searched for pointers, and kernels that follow pointers "
            "in memory may run slower; a container's seccomp profile must allow the call, and "
            "some emulators do not have it"));
  }
  return 0;
}

}  // namespace vramspan
