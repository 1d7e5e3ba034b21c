#include "runtime/backing/host_limits.h"

#include <absl/strings/numbers.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_split.h>
#include <absl/strings/strip.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <sstream>
#include <vector>

#include "runtime/base/clean_text.h"

namespace vramspan {
namespace {

// Nothing when the file cannot be opened: levels without a controller have no such files.
std::optional<std::string> ReadFile(const std::string& path) {
  std::ifstream file(path);
  if (!file) return std::nullopt;
  std::ostringstream text;
  text << file.rdbuf();
  if (file.bad()) return std::nullopt;
  return text.str();
}

// "Name:   123 kB" of /proc/meminfo.
StatusOr<Bytes> MemInfo(const std::string& path, std::string_view text, std::string_view name) {
  for (std::string_view line : absl::StrSplit(text, '\n')) {
    if (!absl::ConsumePrefix(&line, name) || !absl::ConsumePrefix(&line, ":")) continue;
    uint64_t kib = 0;
    if (!absl::ConsumeSuffix(&line, "kB") || !absl::SimpleAtoi(line, &kib) ||
        kib > (uint64_t{1} << 52)) {
      break;
    }
    return KiB(kib);
  }
  return absl::InternalError(absl::StrCat(path, " has no readable line ", name));
}

struct Mount {
  std::string root;   // The cgroup that stands at `point`.
  std::string point;  // Where it is mounted.
};

// mountinfo writes space, tab, newline and backslash as \ooo.
std::string Unescape(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto octal = [&](size_t k) { return text[k] >= '0' && text[k] <= '7'; };
    if (text[i] == '\\' && i + 3 < text.size() && octal(i + 1) && octal(i + 2) && octal(i + 3)) {
      out.push_back(static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 +
                                      (text[i + 3] - '0')));
      i += 3;
    } else {
      out.push_back(text[i]);
    }
  }
  return out;
}

// `id parent major:minor root point options [tags...] - type source super-options`
std::optional<Mount> FindMount(std::string_view mountinfo, bool v2) {
  for (const std::string_view line : absl::StrSplit(mountinfo, '\n')) {
    const std::vector<std::string_view> halves = absl::StrSplit(line, absl::MaxSplits(" - ", 1));
    if (halves.size() != 2) continue;
    const std::vector<std::string_view> left = absl::StrSplit(halves[0], ' ');
    const std::vector<std::string_view> right = absl::StrSplit(halves[1], ' ');
    if (left.size() < 5 || right.size() < 3) continue;
    if (right[0] != (v2 ? "cgroup2" : "cgroup")) continue;
    if (!v2) {
      const std::vector<std::string_view> options = absl::StrSplit(right[2], ',');
      if (std::find(options.begin(), options.end(), "memory") == options.end()) continue;
    }
    return Mount{Unescape(left[3]), Unescape(left[4])};
  }
  return std::nullopt;
}

// The path of this process's cgroup: of the unified hierarchy, or of v1's memory controller.
std::optional<std::string> FindCgroup(std::string_view text, bool v2) {
  for (const std::string_view line : absl::StrSplit(text, '\n')) {
    const std::vector<std::string_view> parts = absl::StrSplit(line, absl::MaxSplits(':', 2));
    if (parts.size() != 3) continue;
    if (v2 ? parts[1].empty() && parts[0] == "0" : [&] {
          const std::vector<std::string_view> names = absl::StrSplit(parts[1], ',');
          return std::find(names.begin(), names.end(), "memory") != names.end();
        }()) {
      return std::string(parts[2]);
    }
  }
  return std::nullopt;
}

struct Names {
  std::vector<std::string_view> limits;
  std::string_view usage;
  std::string_view reclaimable;  // In memory.stat.
};

// None when the file is not there or says that there is no limit.
StatusOr<std::optional<uint64_t>> ReadNumber(const std::string& path) {
  const std::optional<std::string> text = ReadFile(path);
  if (!text.has_value()) return std::nullopt;
  const std::string_view stripped = absl::StripAsciiWhitespace(*text);
  if (stripped == "max") return std::nullopt;
  uint64_t value = 0;
  if (!absl::SimpleAtoi(stripped, &value)) {
    return absl::InternalError(
        absl::StrCat(path, " holds '", Repeated(stripped), "', which is not a number"));
  }
  // v1 writes "no limit" as the largest whole number of pages in 63 bits.
  if (value >= (uint64_t{1} << 62)) return std::nullopt;
  return value;
}

uint64_t Reclaimable(const std::string& folder, std::string_view name) {
  const std::string text = ReadFile(folder + "/memory.stat").value_or("");
  for (const std::string_view line : absl::StrSplit(text, '\n')) {
    const std::vector<std::string_view> words = absl::StrSplit(line, ' ');
    uint64_t value = 0;
    if (words.size() == 2 && words[0] == name && absl::SimpleAtoi(words[1], &value)) return value;
  }
  return 0;
}

Status ReadLevel(const std::string& folder, const Names& names, HostLimits* limits) {
  for (const std::string_view name : names.limits) {
    const std::string file = absl::StrCat(folder, "/", name);
    VS_ASSIGN_OR_RETURN(const std::optional<uint64_t> limit, ReadNumber(file));
    if (!limit.has_value()) continue;
    VS_ASSIGN_OR_RETURN(const std::optional<uint64_t> usage,
                        ReadNumber(absl::StrCat(folder, "/", names.usage)));
    // File pages that nobody used lately count as usage until the kernel wants them back; a program
    // that has read a large file would otherwise seem to have no room at all.
    uint64_t used = usage.value_or(0);
    used -= std::min(used, Reclaimable(folder, names.reclaimable));
    const Bytes room(*limit > used ? *limit - used : 0);
    if (!limits->cgroup_room.has_value() || room < *limits->cgroup_room) {
      limits->cgroup_room = room;
      limits->cgroup_file = file;
    }
  }
  return absl::OkStatus();
}

// Every level from this process's cgroup up to the mount: a limit higher up binds as well.
Status ReadHierarchy(const std::string& root, const Mount& mount, std::string path,
                     const Names& names, HostLimits* limits) {
  // In a container the mount shows a part of the tree; a path outside of it is not to be seen.
  if (mount.root != "/") {
    std::string_view rest = path;
    if (!absl::ConsumePrefix(&rest, mount.root) || (!rest.empty() && rest[0] != '/')) rest = "";
    path = std::string(rest);
  }
  if (path.find("/..") != std::string::npos) path.clear();
  while (true) {
    while (!path.empty() && path.back() == '/') path.pop_back();
    VS_RETURN_IF_ERROR(ReadLevel(absl::StrCat(root, mount.point, path), names, limits));
    if (path.empty()) return absl::OkStatus();
    const size_t slash = path.rfind('/');
    path.resize(slash == std::string::npos ? 0 : slash);
  }
}

}  // namespace

StatusOr<HostLimits> ReadHostLimits(const std::string& root) {
  HostLimits limits;
  const std::string meminfo_path = root + "/proc/meminfo";
  const std::optional<std::string> meminfo = ReadFile(meminfo_path);
  if (!meminfo.has_value()) {
    return absl::InternalError(
        absl::StrCat("cannot read ", meminfo_path, ", which tells how much memory the host has"));
  }
  VS_ASSIGN_OR_RETURN(limits.available, MemInfo(meminfo_path, *meminfo, "MemAvailable"));
  VS_ASSIGN_OR_RETURN(limits.total, MemInfo(meminfo_path, *meminfo, "MemTotal"));

  // A kernel without cgroups has neither file, and then no such limit.
  const std::string cgroups = ReadFile(root + "/proc/self/cgroup").value_or("");
  const std::string mounts = ReadFile(root + "/proc/self/mountinfo").value_or("");
  for (const bool v2 : {true, false}) {
    const std::optional<std::string> path = FindCgroup(cgroups, v2);
    const std::optional<Mount> mount = FindMount(mounts, v2);
    if (!path.has_value() || !mount.has_value()) continue;
    const Names names =
        v2 ? Names{{"memory.max", "memory.high"}, "memory.current", "inactive_file"}
           : Names{{"memory.limit_in_bytes"}, "memory.usage_in_bytes", "total_inactive_file"};
    VS_RETURN_IF_ERROR(ReadHierarchy(root, *mount, *path, names, &limits));
  }
  return limits;
}

Bytes DefaultHostBudget(const HostLimits& limits) {
  const Bytes least = std::min(limits.available, limits.cgroup_room.value_or(limits.available));
  const Bytes margin = std::clamp(Bytes(least.value / 8), MiB(512), GiB(8));
  if (least <= margin) return Bytes(0);
  return Bytes((least - margin).value / kGranularity.value * kGranularity.value);
}

}  // namespace vramspan
