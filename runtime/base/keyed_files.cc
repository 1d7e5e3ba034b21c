#include "runtime/base/keyed_files.h"

#include <absl/strings/str_cat.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>

#include "runtime/base/own_descriptor.h"
#include "runtime/base/quiet_write.h"

namespace vramspan {
namespace {

constexpr std::chrono::milliseconds kPatience{100};
constexpr int kTries = 3;

// No two writers have the same, and what a killed one left is in nobody's way: numbers of processes
// come again in containers.
std::string HalfName(const std::string& name) {
  static std::atomic<uint64_t> serial{0};
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto nanoseconds = std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
  return absl::StrCat(name, ".", getpid(), ".", static_cast<uint64_t>(nanoseconds) + ++serial,
                      KeyedFiles::kHalfEnding);
}

bool Exists(int folder, const char* name) {
  struct stat s;
  return fstatat(folder, name, &s, AT_SYMLINK_NOFOLLOW) == 0;
}

StatusOr<std::string> ReadAll(int descriptor, const std::string& path, size_t most) {
  std::string text(most + 1, '\0');
  size_t have = 0;
  while (have < text.size()) {
    const ssize_t got = read(descriptor, text.data() + have, text.size() - have);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return UserFileFailure(path, errno);
    if (got == 0) break;
    have += static_cast<size_t>(got);
  }
  text.resize(have);
  return text;
}

}  // namespace

std::string KeyedFiles::NameOf(uint64_t key) const {
  return absl::StrCat(absl::Hex(key, absl::kZeroPad16), kind_.ending);
}

StatusOr<OpenedFolder> KeyedFiles::Open() const {
  if (!Exists(AT_FDCWD, folder().c_str())) {
    return absl::NotFoundError(absl::StrCat("there is no ", folder()));
  }
  return OpenUserFolder(Place());
}

StatusOr<KeyedFiles> KeyedFiles::OfUser(const Kind& kind) {
  // Another user's variable is in the environment of programs that changed their user.
  const char* const xdg = secure_getenv("XDG_CACHE_HOME");
  if (xdg != nullptr && xdg[0] == '/') return KeyedFiles(kind, xdg);
  const char* const home = secure_getenv("HOME");
  if (home != nullptr && home[0] == '/') return KeyedFiles(kind, absl::StrCat(home, "/.cache"));
  return absl::NotFoundError("neither XDG_CACHE_HOME nor HOME is set to an absolute path");
}

Status KeyedFiles::Check() const {
  for (const std::string& path : {folder(), Place().parent, cache_}) {
    if (Exists(AT_FDCWD, path.c_str())) return CheckOnThisMachine(path);
  }
  return absl::OkStatus();
}

StatusOr<OpenedFolder> KeyedFiles::Make() const {
  // What the system makes for a new user has none yet. Where it cannot be made, the next says so.
  if (const size_t slash = cache_.rfind('/'); slash != 0 && !Exists(AT_FDCWD, cache_.c_str())) {
    static_cast<void>(MakeUserFolder({cache_.substr(0, slash), cache_.substr(slash + 1)}));
  }
  // One that is there is our parent's, as `vramspan info` or the user may have made it: others of
  // its group may write there, but what is ours alone they cannot make.
  if (!Exists(AT_FDCWD, Place().parent.c_str())) {
    VS_RETURN_IF_ERROR(MakeUserFolder({cache_, "vramspan"}).status());
  }
  return MakeUserFolder(Place());
}

StatusOr<std::string> KeyedFiles::Read(uint64_t key) const {
  StatusOr<std::string> text = ReadOnce(key);
  // One that is renamed over just now has no name any more, and another has.
  for (int i = 1; i < kTries && absl::IsNotFound(text.status()); ++i) text = ReadOnce(key);
  return text;
}

StatusOr<std::string> KeyedFiles::ReadOnce(uint64_t key) const {
  const std::string name = NameOf(key);
  OwnDescriptor file;
  {
    VS_ASSIGN_OR_RETURN(const OpenedFolder folder, Open());
    if (!Exists(folder.at(), name.c_str())) {
      return absl::NotFoundError(absl::StrCat("there is no ", PathOf(key)));
    }
    VS_ASSIGN_OR_RETURN(const int opened, ReadUserFile(folder.at(), name, PathOf(key)));
    file.Adopt(opened);
  }
  VS_ASSIGN_OR_RETURN(const int now, file.Get());
  return ReadAll(now, PathOf(key), kind_.most_text);
}

Status KeyedFiles::Write(uint64_t key, std::string_view text) const {
  const std::string name = NameOf(key), path = PathOf(key);
  VS_ASSIGN_OR_RETURN(const OpenedFolder folder, Make());
  std::string half;
  int opened = -1;
  for (int i = 0; i < kTries && opened < 0 && (i == 0 || errno == EEXIST); ++i) {
    half = HalfName(name);
    opened = openat(folder.at(), half.c_str(),
                    O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY, 0600);
  }
  if (opened < 0) return UserFileFailure(path, errno);
  OwnDescriptor file;
  file.Adopt(opened);
  const StatusOr<int> now = file.Get();
  int error = EBADF;
  if (now.ok()) {
    // Whatever the program's mask says.
    static_cast<void>(fchmod(*now, 0600));
    error = WriteQuietly(*now, {text}, kPatience);
  }
  if (error == 0 && !folder.held()) return UserFileFailure(path, EBADF);
  if (error == 0 && renameat(folder.at(), half.c_str(), folder.at(), name.c_str()) != 0) {
    error = errno;
  }
  if (error == 0) return Prune();
  if (folder.held()) unlinkat(folder.at(), half.c_str(), 0);
  return UserFileFailure(path, error);
}

}  // namespace vramspan
