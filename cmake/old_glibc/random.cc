// The C++ library's random_device asks glibc 2.36.
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/random.h>
#include <unistd.h>

namespace {

// Four bytes come whole, or none does: a signal may interrupt either call before it has any.
bool FromKernel(uint32_t* value) {
  return TEMP_FAILURE_RETRY(getrandom(value, sizeof(*value), 0)) == sizeof(*value);
}

// A filter of system calls may refuse the other.
bool FromDevice(uint32_t* value) {
  const int file = TEMP_FAILURE_RETRY(open("/dev/urandom", O_RDONLY | O_CLOEXEC));
  if (file < 0) return false;
  const bool whole = TEMP_FAILURE_RETRY(read(file, value, sizeof(*value))) == sizeof(*value);
  close(file);
  return whole;
}

}  // namespace

extern "C" __attribute__((visibility("hidden"))) uint32_t arc4random() {
  uint32_t value = 0;
  if (!FromKernel(&value) && !FromDevice(&value)) abort();
  return value;
}
