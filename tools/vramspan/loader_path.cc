#include "tools/vramspan/loader_path.h"

#include <absl/algorithm/container.h>
#include <absl/strings/ascii.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_format.h>
#include <absl/strings/str_join.h>
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>

namespace vramspan::run {
namespace {

// Owners that this user namespace does not know, root outside of a container for one, have this id.
constexpr uid_t kUnknownOwner = 65534;

std::string Error(const std::string& path, std::string_view why) {
  return absl::StrCat(path, ": ", why);
}
std::string Failed(const std::string& path) { return Error(path, std::strerror(errno)); }

// FNV-1a: the same in every process and every build.
std::string LinkName(std::string_view folder) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : folder) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return absl::StrFormat("%016x", hash);
}

bool IsLinkName(std::string_view name) {
  return name.size() == 16 && absl::c_all_of(name, [](unsigned char c) {
           return absl::ascii_isxdigit(c) && !absl::ascii_isupper(c);
         });
}

// Whether somebody else may rename or replace what lies in the folder: empty where not.
std::string WhoElseMayChange(const std::string& folder) {
  struct stat s;
  if (lstat(folder.c_str(), &s) != 0) return Failed(folder);
  if (!S_ISDIR(s.st_mode)) return Error(folder, "it is not a folder");
  if (s.st_uid != 0 && s.st_uid != geteuid() && s.st_uid != kUnknownOwner) {
    return Error(folder, "it belongs to another user");
  }
  if ((s.st_mode & (S_IWGRP | S_IWOTH)) != 0 && (s.st_mode & S_ISVTX) == 0) {
    return Error(folder, "others may write to it, and it is not sticky");
  }
  return "";
}

// A folder of the user's own, open.
class OwnFolder {
 public:
  // Makes it where there is none.
  static StatusOr<OwnFolder> Open(const std::string& place) {
    std::error_code error;
    const std::filesystem::path real = std::filesystem::canonical(place, error);
    if (error) return absl::FailedPreconditionError(Error(place, error.message()));
    if (!LoaderTakes(real)) {
      return absl::FailedPreconditionError(
          Error(real, "its path has a character that the loader takes for a separator"));
    }
    std::filesystem::path above;
    for (const std::filesystem::path& part : real) {
      above /= part;
      const std::string who = WhoElseMayChange(above);
      if (!who.empty()) return absl::FailedPreconditionError(who);
    }
    const std::string path = real / absl::StrCat("vramspan-", geteuid());
    if (mkdir(path.c_str(), S_IRWXU) != 0 && errno != EEXIST) {
      return absl::FailedPreconditionError(Failed(path));
    }
    OwnFolder folder(path, open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    struct stat s;
    if (folder.fd_ < 0 || fstat(folder.fd_, &s) != 0) {
      return absl::FailedPreconditionError(errno == ENOTDIR || errno == ELOOP
                                               ? Error(path, "it exists, and is not a folder")
                                               : Failed(path));
    }
    if (s.st_uid != geteuid()) {
      return absl::FailedPreconditionError(Error(path, "it belongs to another user"));
    }
    if ((s.st_mode & 07777) != S_IRWXU) {
      return absl::FailedPreconditionError(
          absl::StrFormat("%s: it has mode %04o, not 0700", path, s.st_mode & 07777u));
    }
    return folder;
  }

  OwnFolder(OwnFolder&& other) noexcept
      : path_(std::move(other.path_)), fd_(std::exchange(other.fd_, -1)) {}
  OwnFolder& operator=(OwnFolder&&) = delete;
  ~OwnFolder() {
    if (fd_ >= 0) close(fd_);
  }

  // The path of a link to `folder`.
  StatusOr<std::string> LinkTo(const std::string& folder) const {
    const std::string name = LinkName(folder);
    const std::string path = absl::StrCat(path_, "/", name);
    if (symlinkat(folder.c_str(), fd_, name.c_str()) == 0) return path;
    if (errno != EEXIST) return absl::FailedPreconditionError(Failed(path));
    const std::optional<std::string> leads = Target(name);
    if (leads == folder) return path;
    return absl::FailedPreconditionError(
        Error(path, absl::StrCat("it exists, and is not a link to ", folder, "; remove it")));
  }

  // Removes links to folders that are gone.
  void Sweep() const {
    const std::unique_ptr<DIR, int (*)(DIR*)> entries(opendir(path_.c_str()), &closedir);
    if (entries == nullptr) return;
    while (const dirent* const entry = readdir(entries.get())) {
      if (!IsLinkName(entry->d_name) || !Target(entry->d_name).has_value()) continue;
      struct stat s;
      if (fstatat(fd_, entry->d_name, &s, 0) != 0 && errno == ENOENT) {
        unlinkat(fd_, entry->d_name, 0);
      }
    }
  }

 private:
  OwnFolder(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}

  std::optional<std::string> Target(const std::string& name) const {
    std::string target(PATH_MAX, '\0');
    const ssize_t length = readlinkat(fd_, name.c_str(), target.data(), target.size());
    if (length < 0) return std::nullopt;
    target.resize(static_cast<size_t>(length));
    return target;
  }

  std::string path_;
  int fd_;
};

}  // namespace

bool LoaderTakes(const std::string& path) {
  return path.find_first_of(" \t\r\n:;$") == std::string::npos;
}

StatusOr<std::string> LoaderPath(const std::string& path, const std::vector<std::string>& places) {
  if (LoaderTakes(path)) return path;
  const std::filesystem::path library(path);
  if (!LoaderTakes(library.filename())) {
    return absl::FailedPreconditionError(
        Error(path, "the file's name has a character that the loader takes for a separator"));
  }
  std::vector<std::string> why;
  for (const std::string& place : places) {
    const StatusOr<OwnFolder> folder = OwnFolder::Open(place);
    if (!folder.ok()) {
      why.emplace_back(folder.status().message());
      continue;
    }
    folder->Sweep();
    const StatusOr<std::string> link = folder->LinkTo(library.parent_path());
    if (link.ok()) return absl::StrCat(*link, "/", library.filename().string());
    why.emplace_back(link.status().message());
  }
  return absl::FailedPreconditionError(
      absl::StrCat("the loader cannot take the path ", path,
                   ", and there is no place for a link to it (TMPDIR may name one): ",
                   absl::StrJoin(why, "; ")));
}

std::vector<std::string> PlacesForLinks() {
  std::vector<std::string> places;
  const auto add = [&](const char* variable) {
    const char* const text = std::getenv(variable);
    if (text != nullptr && *text == '/') places.emplace_back(text);
  };
  add("TMPDIR");
  places.emplace_back("/tmp");
  add("XDG_RUNTIME_DIR");
  return places;
}

}  // namespace vramspan::run
