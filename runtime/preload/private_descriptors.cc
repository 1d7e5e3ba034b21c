#include "runtime/preload/private_descriptors.h"

#include <dirent.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

namespace vramspan::preload {
namespace {

#ifndef SYS_close_range
#define SYS_close_range 436
#endif
constexpr unsigned kUnshare = 1U << 1;  // CLOSE_RANGE_UNSHARE, which older headers do not have.

long CloseAll(unsigned flags) { return syscall(SYS_close_range, 0U, ~0U, flags); }

// For kernels without close_range.
void CloseEach() {
  std::vector<int> open;
  if (DIR* const folder = opendir("/proc/thread-self/fd")) {
    while (const dirent* const entry = readdir(folder)) {
      if (entry->d_name[0] != '.') open.push_back(std::atoi(entry->d_name));
    }
    closedir(folder);
  } else {
    rlimit limit{};
    getrlimit(RLIMIT_NOFILE, &limit);
    for (rlim_t i = 0; i < std::min<rlim_t>(limit.rlim_max, 1 << 16); ++i) {
      open.push_back(static_cast<int>(i));
    }
  }
  for (const int descriptor : open) close(descriptor);
}

}  // namespace

bool LeaveDescriptors() {
  // In one call nothing is copied but the first few, so that none outlives what the program closes.
  if (CloseAll(kUnshare) == 0) return true;
  if (unshare(CLONE_FILES) != 0) return false;
  if (CloseAll(0) != 0) CloseEach();
  return true;
}

}  // namespace vramspan::preload
