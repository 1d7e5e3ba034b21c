#include "tools/broker/container/tenant_file.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/str_split.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <vector>

#include "runtime/base/clean_text.h"
#include "runtime/base/digits.h"
#include "runtime/base/small_file.h"
#include "tools/broker/container/oci.h"
#include "tools/broker/words/cgroup.h"

namespace vramspan::broker {
namespace {

constexpr size_t kMostOfAFile = 64 << 10;
constexpr char kMark[] = "# vramspan broker cdi-hook: container of process ";

Status Failed(const std::string& path, int error = errno) {
  return absl::FailedPreconditionError(absl::StrCat(path, ": ", std::strerror(error)));
}

std::string PathOf(const std::string& folder, const std::string& id) {
  return absl::StrCat(folder, "/", id, ".toml");
}

Status CheckFolder(const std::string& folder) {
  struct stat found = {};
  if (lstat(folder.c_str(), &found) != 0) {
    return absl::FailedPreconditionError(absl::StrCat(
        folder, ": ", std::strerror(errno), "; is the broker running, and is this its folder?"));
  }
  if (!S_ISDIR(found.st_mode) || (found.st_uid != 0 && found.st_uid != geteuid()) ||
      (found.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return absl::FailedPreconditionError(
        absl::StrCat(folder, ": it is no folder that the broker alone can change"));
  }
  return absl::OkStatus();
}

// A text of TOML.
std::string Quoted(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + "\"";
}

// The pid and the start that a hook wrote; false: it is another's file.
bool ReadMark(std::string_view text, std::string* pid, std::string* started) {
  if (!text.starts_with(kMark)) return false;
  text.remove_prefix(sizeof kMark - 1);
  const std::vector<std::string> words =
      absl::StrSplit(text.substr(0, text.find('\n')), " started ");
  if (words.size() != 2) return false;
  *pid = words[0];
  *started = words[1];
  return true;
}

bool IsOfAHook(const std::string& path) {
  std::string pid, started;
  const StatusOr<std::string> text = ReadSmallFile(path, kMostOfAFile);
  return text.ok() && ReadMark(*text, &pid, &started);
}

// The 22nd field. The second is a name in parentheses, which may have any letters.
StatusOr<std::string> Started(const std::string& proc, const std::string& pid) {
  VS_ASSIGN_OR_RETURN(const std::string stat,
                      ReadSmallFile(absl::StrCat(proc, "/", pid, "/stat"), kMostOfAFile));
  const size_t name_ends = stat.rfind(')');
  const std::vector<std::string> fields = absl::StrSplit(
      name_ends == std::string::npos ? "" : stat.substr(name_ends + 1), ' ', absl::SkipEmpty());
  uint64_t number = 0;
  if (fields.size() > 19 && ParseDigits(fields[19], &number)) return fields[19];
  return absl::FailedPreconditionError(absl::StrCat(pid, ": its stat has no start"));
}

// As Docker, Podman, containerd and CRI-O name a container's cgroup, with and without systemd.
bool IsNamedFor(std::string_view part, const std::string& id) {
  constexpr std::string_view kScope = ".scope";
  if (part.ends_with(kScope)) part.remove_suffix(kScope.size());
  return part == id || part.ends_with("-" + id);
}

// Up to the part that is named for the container: what it makes inside is its own. "" where no part
// is. It shares a cgroup with others then.
std::string OwnCgroup(const std::string& cgroup, const std::string& id) {
  for (size_t at = 0; at < cgroup.size();) {
    const size_t end = std::min(cgroup.find('/', at + 1), cgroup.size());
    if (IsNamedFor(std::string_view(cgroup).substr(at + 1, end - at - 1), id)) {
      return cgroup.substr(0, end);
    }
    at = end;
  }
  return "";
}

}  // namespace

std::string TenantText(const ContainerTenant& tenant) {
  std::string text =
      absl::StrCat(kMark, tenant.pid, " started ", tenant.started,
                   "\nname = ", Quoted(absl::StrCat("container-", tenant.id.substr(0, 12))),
                   "\ncgroup = ", Quoted(tenant.cgroup), "\n");
  for (const auto& [key, value] : tenant.request) {
    absl::StrAppend(&text, key, " = ", Quoted(value), "\n");
  }
  return text;
}

StatusOr<ContainerTenant> LookAtContainer(const std::string& proc, const std::string& id, int pid) {
  ContainerTenant tenant = {.id = id, .pid = pid};
  const std::string number = absl::StrCat(pid);
  VS_ASSIGN_OR_RETURN(tenant.started, Started(proc, number));
  VS_ASSIGN_OR_RETURN(const std::string text,
                      ReadSmallFile(absl::StrCat(proc, "/", number, "/cgroup"), kMostOfAFile));
  const std::string cgroup = CgroupOf(text);
  tenant.cgroup = OwnCgroup(cgroup, id);
  if (tenant.cgroup.empty() || CleanText(cgroup) != cgroup) {
    return absl::FailedPreconditionError(absl::StrCat(
        "its cgroup '", Repeated(cgroup), "' is not named for it, so it may be others' as well"));
  }
  VS_RETURN_IF_ERROR(WrittenCgroup(tenant.cgroup).status());
  return tenant;
}

Status WriteTenant(const std::string& folder, const ContainerTenant& tenant) {
  VS_RETURN_IF_ERROR(CheckFolder(folder));
  const std::string path = PathOf(folder, tenant.id);
  struct stat found = {};
  if (lstat(path.c_str(), &found) == 0 && !IsOfAHook(path)) {
    return absl::FailedPreconditionError(absl::StrCat(path, ": no hook wrote it; remove it"));
  }
  const std::string next = absl::StrCat(folder, "/.", tenant.id, ".new");
  unlink(next.c_str());  // Of a hook that was killed.
  const int fd = open(next.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd < 0) return Failed(next);
  const std::string text = TenantText(tenant);
  const ssize_t wrote = write(fd, text.data(), text.size());
  const int error = wrote == static_cast<ssize_t>(text.size()) ? 0 : wrote < 0 ? errno : ENOSPC;
  close(fd);
  if (error == 0 && rename(next.c_str(), path.c_str()) == 0) return absl::OkStatus();
  const Status failed = Failed(path, error == 0 ? errno : error);
  unlink(next.c_str());
  return failed;
}

Status RemoveTenant(const std::string& folder, const std::string& id) {
  VS_RETURN_IF_ERROR(CheckFolder(folder));
  const std::string path = PathOf(folder, id);
  if (!IsOfAHook(path)) return absl::OkStatus();
  return unlink(path.c_str()) == 0 || errno == ENOENT ? absl::OkStatus() : Failed(path);
}

Status SweepTenants(const std::string& folder, const std::string& proc) {
  VS_RETURN_IF_ERROR(CheckFolder(folder));
  std::error_code error;
  for (auto entry = std::filesystem::directory_iterator(folder, error);
       !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    const std::filesystem::path& path = entry->path();
    if (path.extension() != ".toml") continue;
    const StatusOr<std::string> text = ReadSmallFile(path.string(), kMostOfAFile);
    std::string pid, started;
    uint64_t number = 0;
    if (!text.ok() || !ReadMark(*text, &pid, &started) || !ParseDigits(pid, &number)) continue;
    const StatusOr<std::string> now = Started(proc, pid);
    const bool gone = now.ok() ? *now != started : absl::IsNotFound(now.status());
    if (gone) unlink(path.c_str());
  }
  return error ? absl::FailedPreconditionError(absl::StrCat(folder, ": ", error.message()))
               : absl::OkStatus();
}

}  // namespace vramspan::broker
