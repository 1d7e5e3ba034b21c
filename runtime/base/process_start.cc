#include "runtime/base/process_start.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/str_split.h>
#include <sys/stat.h>

#include <string>
#include <vector>

#include "runtime/base/digits.h"
#include "runtime/base/small_file.h"

namespace vramspan {
namespace {

constexpr size_t kMostStat = 4096;
// Behind the name, counted from 0: state, the number of threads, and when it began.
constexpr size_t kState = 0, kThreads = 17, kStart = 19;

}  // namespace

std::optional<uint64_t> StartInStat(std::string_view stat) {
  const size_t name = stat.rfind(')');
  if (name == std::string_view::npos || name + 2 > stat.size()) return std::nullopt;
  const std::vector<std::string_view> fields = absl::StrSplit(stat.substr(name + 2), ' ');
  if (fields.size() <= kStart) return std::nullopt;
  uint64_t threads = 0, start = 0;
  if (fields[kThreads].empty() || !ParseDigits(fields[kThreads], &threads)) return std::nullopt;
  if (fields[kStart].empty() || !ParseDigits(fields[kStart], &start)) return std::nullopt;
  // A main thread that has ended while others run looks the same as a process that has.
  const bool ended = fields[kState] == "Z" || fields[kState] == "X";
  if (ended && threads <= 1) return std::nullopt;
  return start;
}

std::optional<uint64_t> ProcessStart(pid_t pid) {
  if (pid <= 0) return std::nullopt;
  const StatusOr<std::string> stat = ReadSmallFile(absl::StrCat("/proc/", pid, "/stat"), kMostStat);
  return stat.ok() ? StartInStat(*stat) : std::nullopt;
}

uint64_t ProcessNumberSpace() {
  struct stat space;
  return stat("/proc/self/ns/pid", &space) == 0 ? space.st_ino : 0;
}

}  // namespace vramspan
