#include "runtime/base/own_descriptor.h"

#include <absl/strings/str_cat.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

namespace vramspan {
namespace {

constexpr size_t kAnchor = 1;  // Bytes: a page.

// The number to ask for or for a higher one: in the last quarter of what may be opened.
int HighNumber() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  return static_cast<int>(std::min<rlim_t>(limit.rlim_cur, 1024) / 4 * 3);
}

}  // namespace

void OwnDescriptor::Adopt(int descriptor) {
  const int high = fcntl(descriptor, F_DUPFD_CLOEXEC, HighNumber());
  if (high >= 0) {
    close(descriptor);
    descriptor = high;
  }
  identity_ = FileIdentity::Of(descriptor);
  if (identity_.kind == S_IFREG) {
    void* const anchor = mmap(nullptr, kAnchor, PROT_NONE, MAP_SHARED, descriptor, 0);
    if (anchor != MAP_FAILED) anchor_ = anchor;
  }
  number_.store(descriptor, std::memory_order_release);
}

StatusOr<int> OwnDescriptor::Get() const {
  const int number = number_.load(std::memory_order_acquire);
  if (number >= 0 && FileIdentity::Of(number) == identity_) return number;
  number_.store(-1, std::memory_order_release);
  return absl::UnavailableError(number < 0 ? "its descriptor is closed"
                                           : absl::StrCat("the program has closed descriptor ",
                                                          number, ", which was vramspan's"));
}

void OwnDescriptor::Close() {
  const int number = number_.exchange(-1, std::memory_order_acq_rel);
  if (number >= 0 && FileIdentity::Of(number) == identity_) close(number);
  if (anchor_ != nullptr) munmap(anchor_, kAnchor);
  anchor_ = nullptr;
}

}  // namespace vramspan
