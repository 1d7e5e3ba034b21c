#include "tools/broker/words/cgroup.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/str_split.h>

#include <vector>

#include "runtime/base/clean_text.h"

namespace vramspan::broker {
namespace {

constexpr std::string_view kUsers = "/user.slice/user-";
constexpr std::string_view kSlice = ".slice";

bool Has(std::string_view controllers, std::string_view name) {
  const std::vector<std::string_view> all = absl::StrSplit(controllers, ',');
  for (const std::string_view one : all) {
    if (one == name) return true;
  }
  return false;
}

}  // namespace

std::string CgroupOf(std::string_view text) {
  std::string_view unified = "/", memory = "/";
  const std::vector<std::string_view> lines = absl::StrSplit(text, '\n');
  for (const std::string_view line : lines) {
    // "<number>:<controllers>:<path>", and the path may have colons.
    const std::vector<std::string_view> parts = absl::StrSplit(line, absl::MaxSplits(':', 2));
    if (parts.size() != 3 || !parts[2].starts_with('/')) continue;
    if (parts[0] == "0" && parts[1].empty()) unified = parts[2];
    if (Has(parts[1], "memory")) memory = parts[2];
  }
  return std::string(unified == "/" ? memory : unified);
}

StatusOr<std::string> WrittenCgroup(std::string_view text) {
  const auto refused = [&](std::string_view why) {
    return absl::InvalidArgumentError(absl::StrCat("cgroup: '", Repeated(text), "' ", why));
  };
  if (!text.starts_with('/')) return refused("is no path of a cgroup; it begins with /");
  const std::vector<std::string_view> parts = absl::StrSplit(text, '/', absl::SkipEmpty());
  if (parts.empty()) return std::string("/");
  std::string cgroup;
  for (const std::string_view part : parts) {
    if (part == "." || part == "..") return refused("has a . or .. in it; write the whole path");
    absl::StrAppend(&cgroup, "/", part);
  }
  const std::string tenant = TenantOf(cgroup);
  if (tenant == cgroup) return cgroup;
  return refused(absl::StrCat("is part of a user's one tenant; use ", tenant));
}

std::string TenantOf(std::string_view cgroup) {
  if (!cgroup.starts_with(kUsers)) return std::string(cgroup);
  const size_t end = cgroup.find('/', kUsers.size());
  const std::string_view user = cgroup.substr(0, end);
  return std::string(user.ends_with(kSlice) ? user : cgroup);
}

bool IsWithin(std::string_view inner, std::string_view outer) {
  if (outer == "/") return inner.starts_with('/');
  return inner.starts_with(outer) && (inner.size() == outer.size() || inner[outer.size()] == '/');
}

}  // namespace vramspan::broker
