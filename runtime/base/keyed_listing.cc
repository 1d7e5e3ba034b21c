// Which files of a kind there are, and how they go.
#include <absl/strings/numbers.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_split.h>
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <memory>
#include <utility>

#include "runtime/base/digits.h"
#include "runtime/base/keyed_files.h"

namespace vramspan {
namespace {

// Nobody writes for so long: whoever has left it is dead.
constexpr int64_t kHalfSeconds = 600;

// The program may have closed it, and have its number for something else.
Status Unlink(const OpenedFolder& folder, const std::string& name, const std::string& path) {
  if (!folder.held()) return UserFileFailure(path, EBADF);
  if (unlinkat(folder.at(), name.c_str(), 0) == 0) return absl::OkStatus();
  if (errno == ENOENT) return absl::NotFoundError(absl::StrCat("there is no ", path));
  return UserFileFailure(path, errno);
}

}  // namespace

bool KeyedFiles::KeyOfName(std::string_view name, uint64_t* key) const {
  return name.size() == 16 + kind_.ending.size() && name.ends_with(kind_.ending) &&
         name.find_first_not_of("0123456789abcdef") == 16 &&
         absl::SimpleHexAtoi(name.substr(0, 16), key);
}

bool KeyedFiles::IsHalfName(std::string_view name) const {
  const std::vector<std::string_view> parts = absl::StrSplit(name, '.');
  uint64_t number = 0;
  return parts.size() == 5 && KeyOfName(name.substr(0, 16 + kind_.ending.size()), &number) &&
         ParseDigits(parts[2], &number) && ParseDigits(parts[3], &number) &&
         name.ends_with(kHalfEnding);
}

StatusOr<KeyedFiles::Found> KeyedFiles::Look(const OpenedFolder& at) const {
  const int opened = openat(at.at(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (opened < 0) return UserFileFailure(folder(), errno);
  const std::unique_ptr<DIR, int (*)(DIR*)> all(fdopendir(opened), &closedir);
  if (all == nullptr) {
    const int error = errno;
    close(opened);
    return UserFileFailure(folder(), error);
  }
  Found found;
  while (const dirent* const entry = readdir(all.get())) {
    const std::string_view name = entry->d_name;
    uint64_t key = 0;
    const bool ours = KeyOfName(name, &key);
    struct stat s;
    if ((!ours && !IsHalfName(name)) ||
        fstatat(at.at(), entry->d_name, &s, AT_SYMLINK_NOFOLLOW) != 0 || S_ISDIR(s.st_mode)) {
      continue;
    }
    if (ours) {
      found.files.push_back({key, s.st_mtim.tv_sec, static_cast<uint64_t>(s.st_size)});
    } else if (std::time(nullptr) - s.st_mtim.tv_sec > kHalfSeconds) {
      found.halves.emplace_back(name);
    }
  }
  std::stable_sort(found.files.begin(), found.files.end(), [](const auto& a, const auto& b) {
    return a.written != b.written ? a.written > b.written : a.key < b.key;
  });
  return found;
}

Status KeyedFiles::Prune() const {
  VS_ASSIGN_OR_RETURN(const OpenedFolder folder, Open());
  VS_ASSIGN_OR_RETURN(const Found found, Look(folder));
  // What does not go now goes another time.
  for (const std::string& half : found.halves) {
    static_cast<void>(Unlink(folder, half, this->folder() + "/" + half));
  }
  for (size_t i = kind_.most_files; i < found.files.size(); ++i) {
    const uint64_t key = found.files[i].key;
    static_cast<void>(Unlink(folder, NameOf(key), PathOf(key)));
  }
  return absl::OkStatus();
}

StatusOr<std::vector<KeyedFiles::Entry>> KeyedFiles::List() const {
  const StatusOr<OpenedFolder> folder = Open();
  if (absl::IsNotFound(folder.status())) return std::vector<Entry>();
  VS_RETURN_IF_ERROR(folder.status());
  VS_ASSIGN_OR_RETURN(Found found, Look(*folder));
  return std::move(found.files);
}

Status KeyedFiles::Remove(uint64_t key) const {
  VS_ASSIGN_OR_RETURN(const OpenedFolder folder, Open());
  return Unlink(folder, NameOf(key), PathOf(key));
}

StatusOr<size_t> KeyedFiles::RemoveAll() const {
  VS_ASSIGN_OR_RETURN(const std::vector<Entry> files, List());
  Status all;
  for (const Entry& entry : files) {
    const Status removed = Remove(entry.key);
    if (!absl::IsNotFound(removed)) all.Update(removed);
  }
  const Status pruned = Prune();
  if (!absl::IsNotFound(pruned)) all.Update(pruned);
  VS_RETURN_IF_ERROR(all);
  return files.size();
}

}  // namespace vramspan
