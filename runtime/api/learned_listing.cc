// Which learned files there are, and how they go.
#include <absl/strings/numbers.h>
#include <absl/strings/str_cat.h>
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <memory>
#include <utility>

#include "runtime/api/learned_files.h"

namespace vramspan {
namespace {

// Nobody writes for so long: whoever has left it is dead.
constexpr int64_t kHalfSeconds = 600;

struct Found {
  std::vector<LearnedFiles::Entry> files;
  std::vector<std::string> halves;  // That are of nobody any more.
};

StatusOr<Found> Look(const OpenedFolder& folder, const std::string& path) {
  const int opened = openat(folder.at(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (opened < 0) return UserFileFailure(path, errno);
  const std::unique_ptr<DIR, int (*)(DIR*)> all(fdopendir(opened), &closedir);
  if (all == nullptr) {
    const int error = errno;
    close(opened);
    return UserFileFailure(path, error);
  }
  Found found;
  while (const dirent* const entry = readdir(all.get())) {
    const std::string_view name = entry->d_name;
    uint64_t key = 0;
    const bool learned = LearnedFiles::KeyOfName(name, &key);
    struct stat s;
    if ((!learned && !name.ends_with(LearnedFiles::kHalfEnding)) ||
        fstatat(folder.at(), entry->d_name, &s, AT_SYMLINK_NOFOLLOW) != 0) {
      continue;
    }
    if (learned) {
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

}  // namespace

bool LearnedFiles::KeyOfName(std::string_view name, uint64_t* key) {
  return name.size() == 16 + kEnding.size() && name.ends_with(kEnding) &&
         name.find_first_not_of("0123456789abcdef") == 16 &&
         absl::SimpleHexAtoi(name.substr(0, 16), key);
}

Status LearnedFiles::Prune() const {
  VS_ASSIGN_OR_RETURN(const OpenedFolder folder, Open());
  VS_ASSIGN_OR_RETURN(const Found found, Look(folder, this->folder()));
  for (const std::string& half : found.halves) unlinkat(folder.at(), half.c_str(), 0);
  for (size_t i = kMostFiles; i < found.files.size(); ++i) {
    unlinkat(folder.at(), NameOf(found.files[i].key).c_str(), 0);
  }
  return absl::OkStatus();
}

StatusOr<std::vector<LearnedFiles::Entry>> LearnedFiles::List() const {
  const StatusOr<OpenedFolder> folder = Open();
  if (absl::IsNotFound(folder.status())) return std::vector<Entry>();
  VS_RETURN_IF_ERROR(folder.status());
  VS_ASSIGN_OR_RETURN(Found found, Look(*folder, this->folder()));
  return std::move(found.files);
}

Status LearnedFiles::Remove(uint64_t key) const {
  VS_ASSIGN_OR_RETURN(const OpenedFolder folder, Open());
  if (unlinkat(folder.at(), NameOf(key).c_str(), 0) == 0) return absl::OkStatus();
  if (errno == ENOENT) return absl::NotFoundError(absl::StrCat("there is no ", PathOf(key)));
  return UserFileFailure(PathOf(key), errno);
}

StatusOr<size_t> LearnedFiles::RemoveAll() const {
  VS_ASSIGN_OR_RETURN(const std::vector<Entry> files, List());
  for (const Entry& entry : files) {
    const Status removed = Remove(entry.key);
    if (!absl::IsNotFound(removed)) VS_RETURN_IF_ERROR(removed);
  }
  if (!files.empty()) VS_RETURN_IF_ERROR(Prune());
  return files.size();
}

}  // namespace vramspan
