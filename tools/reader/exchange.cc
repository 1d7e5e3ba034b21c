#include "tools/reader/exchange.h"

#include <absl/strings/str_cat.h>
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "runtime/base/clean_text.h"

namespace vramspan::reader {
namespace {

constexpr size_t kTakenAtOnce = size_t{64} << 10;
constexpr int kTries = 3;
constexpr int kFolderFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

Status Because(const std::string& folder, std::string_view name, int error) {
  return absl::FailedPreconditionError(
      absl::StrCat(CleanText(folder), name.empty() ? "" : "/", name, ": ", std::strerror(error)));
}

bool IsOurs(int fd, mode_t kind) {
  struct stat s = {};
  return fstat(fd, &s) == 0 && (s.st_mode & S_IFMT) == kind && s.st_uid == geteuid() &&
         (s.st_mode & 077) == 0;
}

// What is there of a program and its reader. KeptImages has other names while it writes.
bool IsOfExchange(std::string_view name) {
  return name == kAsked || name == kAnswers || name.ends_with(".image") ||
         name.starts_with(".new-");
}

void RemoveIn(DIR* all, const std::string& folder) {
  // A child that outlives the program may put another image there meanwhile.
  for (int i = 0; i < kTries; ++i) {
    rewinddir(all);
    std::vector<std::string> names;
    while (const dirent* const entry = readdir(all)) {
      if (IsOfExchange(entry->d_name)) names.emplace_back(entry->d_name);
    }
    for (const std::string& name : names) unlinkat(dirfd(all), name.c_str(), 0);
    if (rmdir(folder.c_str()) == 0 || (errno != ENOTEMPTY && errno != EEXIST)) return;
  }
}

}  // namespace

Status MakeExchange(const std::string& folder) {
  for (const char* const name : {kAsked, kAnswers}) {
    const int fd = open(absl::StrCat(folder, "/", name).c_str(),
                        O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) return Because(folder, name, errno);
    // Whatever the user's mask says.
    const int error = fchmod(fd, 0600) == 0 ? 0 : errno;
    close(fd);
    if (error != 0) return Because(folder, name, error);
  }
  return absl::OkStatus();
}

void RemoveExchange(const std::string& folder) {
  const int at = open(folder.c_str(), kFolderFlags);
  DIR* const all = at < 0 || !IsOurs(at, S_IFDIR) ? nullptr : fdopendir(at);
  if (all != nullptr) {
    RemoveIn(all, folder);
    closedir(all);
  } else if (at >= 0) {
    close(at);
  }
}

StatusOr<std::unique_ptr<Exchange>> Exchange::Open(const std::string& folder) {
  std::unique_ptr<Exchange> exchange(new Exchange(folder));
  VS_RETURN_IF_ERROR(exchange->OpenAll());
  return exchange;
}

Status Exchange::OpenAll() {
  at_ = open(folder_.c_str(), kFolderFlags);
  if (at_ < 0) return Because(folder_, "", errno);
  if (!IsOurs(at_, S_IFDIR)) {
    return absl::FailedPreconditionError(
        absl::StrCat(CleanText(folder_), " is no folder of this user's alone"));
  }
  const auto open_file = [this](const char* name, int how, int* fd) -> Status {
    *fd = openat(at_, name, how | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (*fd < 0) return Because(folder_, name, errno);
    if (IsOurs(*fd, S_IFREG)) return absl::OkStatus();
    return absl::FailedPreconditionError(
        absl::StrCat(CleanText(folder_), "/", name, " is no file of this user's alone"));
  };
  VS_RETURN_IF_ERROR(open_file(kAsked, O_RDONLY, &asked_));
  return open_file(kAnswers, O_WRONLY | O_APPEND, &answers_);
}

Exchange::~Exchange() {
  for (const int fd : {at_, asked_, answers_}) {
    if (fd >= 0) close(fd);
  }
}

Status Exchange::TakeAsked(AskLines* lines, std::vector<Ask>* asks) const {
  std::string bytes(kTakenAtOnce, '\0');
  while (lines->taken() < AskLines::kMostBytes) {
    const ssize_t got =
        pread(asked_, bytes.data(), bytes.size(), static_cast<off_t>(lines->taken()));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Because(folder_, kAsked, errno);
    if (got == 0) break;
    lines->Add(std::string_view(bytes).substr(0, static_cast<size_t>(got)), asks);
  }
  return absl::OkStatus();
}

Status Exchange::Answer(std::string_view lines) const {
  while (!lines.empty()) {
    const ssize_t wrote = write(answers_, lines.data(), lines.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return Because(folder_, kAnswers, wrote < 0 ? errno : ENOSPC);
    lines.remove_prefix(static_cast<size_t>(wrote));
  }
  return absl::OkStatus();
}

StatusOr<prove::MappedFile> Exchange::Image(uint64_t module) const {
  const std::string name = absl::StrCat(absl::Hex(module, absl::kZeroPad16), ".image");
  const int fd = openat(at_, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) {
    return errno == ENOENT ? absl::NotFoundError(absl::StrCat("there is no ", name))
                           : Because(folder_, name, errno);
  }
  StatusOr<prove::MappedFile> file = prove::MappedFile::Of(fd, name);
  close(fd);
  return file;
}

bool Exchange::Moved() const {
  struct stat ours = {}, named = {};
  return fstat(at_, &ours) != 0 || lstat(folder_.c_str(), &named) != 0 ||
         ours.st_ino != named.st_ino || ours.st_dev != named.st_dev;
}

bool Exchange::Gone() const {
  struct stat asked = {};
  return Moved() || fstat(asked_, &asked) != 0 || asked.st_nlink == 0;
}

void Exchange::Remove() const {
  if (Moved()) return;
  // There may be no descriptor left for another, and this one is needed to the end.
  if (DIR* const all = fdopendir(at_)) RemoveIn(all, folder_);
}

}  // namespace vramspan::reader
