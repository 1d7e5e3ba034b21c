#include "tools/broker/server/host_memory.h"

#include <absl/strings/ascii.h>
#include <absl/strings/numbers.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_split.h>

#include <algorithm>
#include <tuple>
#include <vector>

#include "runtime/base/small_file.h"
#include "tools/broker/words/cgroup.h"

namespace vramspan::broker {
namespace {

constexpr size_t kMostMemoryText = 16 << 10;

// A number in a file of its own; none where there is no file, or "max" in it.
std::optional<Bytes> NumberIn(const std::string& path) {
  const StatusOr<std::string> text = ReadSmallFile(path, kMostMemoryText);
  uint64_t number = 0;
  if (!text.ok() || !absl::SimpleAtoi(absl::StripAsciiWhitespace(*text), &number)) {
    return std::nullopt;
  }
  return Bytes(number);
}

// The limits of the daemon's own cgroup and those around it.
HostUse WithinLimits(HostUse use) {
  const StatusOr<std::string> text = ReadSmallFile("/proc/self/cgroup", kMostMemoryText);
  if (!text.ok()) return use;
  std::string cgroup = CgroupOf(*text);
  for (; cgroup.size() > 1; cgroup.resize(cgroup.rfind('/'))) {
    for (const auto& [root, most, now] :
         {std::tuple{"/sys/fs/cgroup", "memory.max", "memory.current"},
          std::tuple{"/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes"}}) {
      const std::string folder = absl::StrCat(root, cgroup, "/");
      const std::optional<Bytes> limit = NumberIn(folder + most);
      const std::optional<Bytes> used = NumberIn(folder + now);
      if (!limit || *limit >= use.total) continue;
      use.total = *limit;
      use.available = std::min(use.available, *limit - std::min(*limit, used.value_or(Bytes())));
    }
  }
  return use;
}

}  // namespace

std::optional<HostUse> ReadMeminfo(std::string_view text) {
  std::optional<Bytes> total, available;
  const std::vector<std::string_view> lines = absl::StrSplit(text, '\n');
  for (const std::string_view line : lines) {
    const std::vector<std::string_view> words = absl::StrSplit(line, ' ', absl::SkipEmpty());
    uint64_t kib = 0;
    if (words.size() != 3 || words[2] != "kB" || !absl::SimpleAtoi(words[1], &kib)) continue;
    if (kib > UINT64_MAX >> 10) continue;
    if (words[0] == "MemTotal:") total = KiB(kib);
    if (words[0] == "MemAvailable:") available = KiB(kib);
  }
  if (!total || !available) return std::nullopt;
  return HostUse{*total, std::min(*total, *available)};
}

StatusOr<HostUse> HostMemory::Look() const {
  if (stated_) return HostUse{*stated_, *stated_};
  VS_ASSIGN_OR_RETURN(const std::string text, ReadSmallFile(meminfo_, kMostMemoryText));
  const std::optional<HostUse> use = ReadMeminfo(text);
  if (!use)
    return absl::FailedPreconditionError(absl::StrCat(meminfo_, " does not say what is available"));
  return WithinLimits(*use);
}

Bytes HostMemory::Granted(Bytes total) const {
  return stated_ ? total : Bytes(total.value - total.value / 10);
}

}  // namespace vramspan::broker
