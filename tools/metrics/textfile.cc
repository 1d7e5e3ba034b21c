#include "tools/metrics/textfile.h"

#include <absl/cleanup/cleanup.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_format.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string>
#include <system_error>

namespace vramspan::metrics {
namespace {

Status SystemError(std::string_view what, int error = errno) {
  return absl::FailedPreconditionError(
      absl::StrCat(what, ": ", std::generic_category().message(error)));
}

bool Same(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

// What is in the place already: nothing, or a file of this writer's.
StatusOr<bool> IsThere(int folder, const std::string& name, const std::string& path,
                       const Writer& writer) {
  // A pipe's writer is not waited for, and no link is followed.
  const int file = openat(folder, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (file < 0 && errno == ENOENT) return false;
  const auto shut = absl::MakeCleanup([file] {
    if (file >= 0) close(file);
  });
  const Status others = absl::FailedPreconditionError(absl::StrCat(
      path, ": something is there that no ", writer.name, " wrote; move it, or name another"));
  struct stat found = {};
  if (file < 0 || fstat(file, &found) != 0 || !S_ISREG(found.st_mode)) return others;
  std::string mark(writer.mark.size(), '\0');
  const ssize_t size = read(file, mark.data(), mark.size());
  if (size < 0 || mark.substr(0, static_cast<size_t>(size)) != writer.mark) return others;
  return true;
}

bool WriteAll(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(file, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    text.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

// Removes what was made under that name, and nothing else.
void Remove(int folder, const std::string& name, int file) {
  struct stat made = {}, found = {};
  if (fstat(file, &made) != 0) return;
  if (fstatat(folder, name.c_str(), &found, AT_SYMLINK_NOFOLLOW) != 0) return;
  if (Same(made, found)) unlinkat(folder, name.c_str(), 0);
}

Status Fill(int folder, const std::string& next, int file, const std::string& name,
            std::string_view text, const std::string& path, const Writer& writer) {
  // Readable for the collector, whatever the umask is.
  if (!WriteAll(file, writer.mark) || !WriteAll(file, text) || fchmod(file, 0644) != 0) {
    return SystemError(path);
  }
  VS_ASSIGN_OR_RETURN(const bool there, IsThere(folder, name, path, writer));
  const unsigned how = there ? 0 : RENAME_NOREPLACE;
  if (renameat2(folder, next.c_str(), folder, name.c_str(), how) != 0) return SystemError(path);
  return absl::OkStatus();
}

}  // namespace

Status CheckTextfile(std::string_view option, const std::string& path) {
  if (path.ends_with(".prom") && std::filesystem::path(path).filename().string().size() > 5) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      option, ": '", path, "' does not end in .prom, so the collector would not read it"));
}

Status WriteTextfile(const std::string& path, const Writer& writer, std::string_view text) {
  const std::filesystem::path whole(path);
  const std::string parent = whole.has_parent_path() ? whole.parent_path().string() : ".";
  const std::string name = whole.filename().string();
  const int folder = open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return SystemError(parent);
  const auto shut = absl::MakeCleanup([folder] { close(folder); });
  VS_RETURN_IF_ERROR(IsThere(folder, name, path, writer).status());
  uint64_t number[2] = {};
  if (getrandom(number, sizeof number, 0) != sizeof number) return SystemError("getrandom");
  // Not what the collector looks at.
  const std::string next = absl::StrFormat(".vramspan-%016x%016x.tmp", number[0], number[1]);
  const int file =
      openat(folder, next.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (file < 0) return SystemError(path);
  const auto end = absl::MakeCleanup([file] { close(file); });
  const Status filled = Fill(folder, next, file, name, text, path, writer);
  if (!filled.ok()) Remove(folder, next, file);
  return filled;
}

}  // namespace vramspan::metrics
