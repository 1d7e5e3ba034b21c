#include "tools/simcuda/shared/process_name.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>

namespace simcuda::shared {
namespace {

constexpr int kPidBits = 22;  // The kernel's PID_MAX_LIMIT.
constexpr uint64_t kPidMask = (uint64_t{1} << kPidBits) - 1;
constexpr uint64_t kStartMask = (uint64_t{1} << 40) - 1;  // Hundredths of seconds since the boot.

struct Stat {
  char state = '?';
  unsigned long threads = 0;
  unsigned long long start = 0;
};

// False, with errno, where there is nothing to be read.
bool ReadStat(int pid, Stat* stat) {
  std::array<char, 32> path;
  snprintf(path.data(), path.size(), "/proc/%d/stat", pid);
  const int file = open(path.data(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  std::array<char, 1024> text;
  const ssize_t got = read(file, text.data(), text.size() - 1);
  const int error = errno;
  close(file);
  errno = error;
  if (got <= 0) return false;
  text[static_cast<size_t>(got)] = '\0';
  // The name before may hold anything.
  const char* rest = strrchr(text.data(), ')');
  errno = EIO;
  return rest != nullptr &&
         sscanf(rest + 1,
                " %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %lu %*d %llu",
                &stat->state, &stat->threads, &stat->start) == 3;
}

}  // namespace

ProcessName OwnName() {
  Stat stat;
  const int pid = getpid();
  if (!ReadStat(pid, &stat)) stat.start = 0;
  return (stat.start & kStartMask) << kPidBits | static_cast<uint64_t>(pid);
}

int PidOf(ProcessName name) { return static_cast<int>(name & kPidMask); }

bool Lives(ProcessName name) {
  const int pid = PidOf(name);
  if (kill(pid, 0) != 0 && errno == ESRCH) return false;
  Stat stat;
  if (!ReadStat(pid, &stat)) return errno != ENOENT && errno != ESRCH;
  if (((name >> kPidBits) & kStartMask) != (stat.start & kStartMask)) return false;
  // Its first thread may be gone before the others.
  const bool gone = stat.state == 'Z' || stat.state == 'X';
  return !gone || stat.threads > 1;
}

}  // namespace simcuda::shared
