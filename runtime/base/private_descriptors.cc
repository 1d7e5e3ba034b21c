#include "runtime/base/private_descriptors.h"

#include <dirent.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

namespace vramspan {
namespace {

#ifndef SYS_close_range
#define SYS_close_range 436
#endif
constexpr unsigned kUnshare = 1U << 1;  // CLOSE_RANGE_UNSHARE, which older headers do not have.

bool CloseRange(unsigned first, unsigned last, unsigned flags) {
  return first > last || syscall(SYS_close_range, first, last, flags) == 0;
}

// What lies below the last of `keep`, but for these.
bool CloseBetween(std::span<const int> keep) {
  unsigned next = 0;
  bool closed = true;
  for (const int kept : keep) {
    if (kept > 0) closed &= CloseRange(next, static_cast<unsigned>(kept) - 1, 0);
    next = static_cast<unsigned>(kept) + 1;
  }
  return closed;
}

// For kernels without close_range.
void CloseEach(std::span<const int> keep) {
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
  for (const int descriptor : open) {
    if (std::find(keep.begin(), keep.end(), descriptor) == keep.end()) close(descriptor);
  }
}

}  // namespace

LeftCopies::LeftCopies(const std::array<int, 2>& numbers)
    : numbers_(numbers), identities_{FileIdentity::Of(numbers[0]), FileIdentity::Of(numbers[1])} {}

void LeftCopies::Close() const {
  for (size_t i = 0; i < numbers_.size(); ++i) {
    if (FileIdentity::Of(numbers_[i]) == identities_[i]) close(numbers_[i]);
  }
}

bool LeaveDescriptors(std::span<const int> keep) {
  const unsigned beyond = keep.empty() ? 0 : static_cast<unsigned>(keep.back()) + 1;
  // In one call nothing is copied but what lies below that, so that nothing outlives what the
  // program closes.
  if (CloseRange(beyond, ~0U, kUnshare)) {
    if (!CloseBetween(keep)) CloseEach(keep);
    return true;
  }
  if (unshare(CLONE_FILES) != 0) return false;
  if (!CloseRange(beyond, ~0U, 0) || !CloseBetween(keep)) CloseEach(keep);
  return true;
}

}  // namespace vramspan
