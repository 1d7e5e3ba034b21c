#include "tools/vramspan/top_records.h"

#include <absl/cleanup/cleanup.h>
#include <absl/strings/numbers.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_split.h>
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <thread>
#include <tuple>
#include <utility>

#include "runtime/api/live_place.h"
#include "runtime/base/clean_text.h"
#include "runtime/base/process_start.h"
#include "runtime/base/small_file.h"

namespace vramspan::top {
namespace {

// What is more is not looked at.
constexpr size_t kMostFiles = 4096;
constexpr size_t kMostNotes = 5;
constexpr size_t kMostCommand = 200, kMostName = 60;
constexpr int kTries = 5;
constexpr std::chrono::milliseconds kBetweenTries{1};
constexpr uint64_t kForgotten = uint64_t{24} * 3600 * 1'000'000'000;

template <size_t kSize>
std::string Clean(const char (&field)[kSize]) {
  const std::string_view whole(field, kSize);
  return CleanText(whole.substr(0, whole.find('\0')), kMostName);
}

// What is read of a file that others may write to.
enum class Reading { kGood, kDamaged, kNotOurs, kGone };

Reading ReadOnce(int folder, const std::string& name, LiveRecord* record) {
  const StatusOr<int> file = ReadUserFile(folder, name, name);
  struct stat s;
  if (!file.ok()) {
    const bool there = fstatat(folder, name.c_str(), &s, AT_SYMLINK_NOFOLLOW) == 0;
    return there ? Reading::kNotOurs : Reading::kGone;
  }
  const auto shut = absl::MakeCleanup([&file] { close(*file); });
  char bytes[sizeof(LiveRecord) + 1];
  size_t have = 0;
  while (have < sizeof(bytes)) {
    const ssize_t got = read(*file, bytes + have, sizeof(bytes) - have);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    have += static_cast<size_t>(got);
  }
  if (have != sizeof(LiveRecord)) return Reading::kDamaged;
  std::memcpy(record, bytes, sizeof(*record));
  return record->Check() ? Reading::kGood : Reading::kDamaged;
}

// One that is written just now is read again.
Reading Read(int folder, const std::string& name, LiveRecord* record) {
  Reading reading = Reading::kDamaged;
  for (int i = 0; i < kTries && reading == Reading::kDamaged; ++i) {
    if (i != 0) std::this_thread::sleep_for(kBetweenTries);
    reading = ReadOnce(folder, name, record);
  }
  return reading;
}

// Nothing: it is not known.
std::optional<std::string> CommandOf(uint32_t pid) {
  const StatusOr<std::string> text =
      ReadSmallFile(absl::StrCat("/proc/", pid, "/cmdline"), 1 << 21);
  if (!text.ok() || text->empty()) return std::nullopt;
  std::string words = *text;
  while (!words.empty() && words.back() == '\0') words.pop_back();
  std::replace(words.begin(), words.end(), '\0', ' ');
  return CleanText(words, kMostCommand);
}

// The process runs what it ran when it wrote that.
bool Lives(const LiveRecord& r) {
  if (r.pid == 0 || r.pid > INT32_MAX || ProcessStart(static_cast<pid_t>(r.pid)) != r.start) {
    return false;
  }
  struct stat exe;
  if (r.exe_inode == 0 || stat(absl::StrCat("/proc/", r.pid, "/exe").c_str(), &exe) != 0)
    return true;
  return exe.st_dev == r.exe_device && exe.st_ino == r.exe_inode;
}

// Of a file whose record cannot be read, only its name tells whose it is.
bool NamesTheDead(std::string_view name, uint64_t space) {
  const std::vector<std::string_view> parts =
      absl::StrSplit(name.substr(kLivePrefix.size()), absl::ByAnyChar("-."));
  uint64_t of = 0;
  uint32_t pid = 0;
  if (parts.size() < 3 || !absl::SimpleAtoi(parts[0], &of) || !absl::SimpleAtoi(parts[1], &pid)) {
    return false;
  }
  return of == space && space != 0 && pid <= INT32_MAX &&
         !ProcessStart(static_cast<pid_t>(pid)).has_value();
}

class Finder {
 public:
  Found Take() {
    Supersede();
    std::sort(found_.seen.begin(), found_.seen.end(), [](const Seen& a, const Seen& b) {
      return std::tie(a.record.pid, a.record.ordinal, a.record.serial) <
             std::tie(b.record.pid, b.record.ordinal, b.record.serial);
    });
    if (unsaid_ != 0) found_.notes.push_back(absl::StrCat("and ", unsaid_, " more of these"));
    return std::move(found_);
  }

  void LookInto(const UserFolder& place) {
    struct stat s;
    if (lstat(place.path().c_str(), &s) != 0) return;
    const StatusOr<OpenedFolder> opened = OpenUserFolder(place);
    if (!opened.ok()) return Note(std::string(opened.status().message()));
    const int at = opened->at();
    if (fstat(at, &s) != 0 || !folders_.insert({s.st_dev, s.st_ino}).second) return;
    const int listed = openat(at, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR* const folder = listed < 0 ? nullptr : fdopendir(listed);
    if (folder == nullptr) {
      if (listed >= 0) close(listed);
      return Note(absl::StrCat("cannot list ", place.path()));
    }
    const auto end = absl::MakeCleanup([folder] { closedir(folder); });
    size_t files = 0;
    while (const dirent* const entry = readdir(folder)) {
      const std::string name = entry->d_name;
      if (!name.starts_with(kLivePrefix)) continue;
      if (++files > kMostFiles) {
        return Note(absl::StrCat(place.path(), " has more than ", kMostFiles, " records"));
      }
      LookAt(at, name, place.path() + "/" + name);
    }
  }

 private:
  void Note(std::string text) {
    if (found_.notes.size() >= kMostNotes) {
      ++unsaid_;
    } else {
      found_.notes.push_back(CleanText(text, 400));
    }
  }

  void LookAt(int folder, const std::string& name, const std::string& path) {
    const std::string_view version = std::string_view(name).substr(name.rfind('.') + 1);
    if (version != absl::StrCat("v", std::string(1, kLiveVersion))) {
      if (NamesTheDead(name, space_)) return Remove(folder, name);
      return Note(absl::StrCat(path, " is of another version of vramspan, so it is not read"));
    }
    Seen seen;
    LiveRecord& r = seen.record;
    switch (Read(folder, name, &r)) {
      case Reading::kGone:
        return;
      case Reading::kNotOurs:
        return Note(absl::StrCat(path, " is not a file of this user's alone, so it is not read"));
      case Reading::kDamaged:
        if (NamesTheDead(name, space_)) return Remove(folder, name);
        return Note(absl::StrCat(path, " is no live record; remove it"));
      case Reading::kGood:
        break;
    }
    if (name != LiveName(r.space, r.pid, r.serial)) {
      return Note(absl::StrCat(path, " is the record of another process; remove it"));
    }
    seen.elsewhere = r.space != space_ || space_ == 0;
    const uint64_t now = SteadyNow();
    // Before the machine started.
    if (seen.elsewhere && r.written > now) return;
    const bool forgotten = r.written < now && now - r.written > kForgotten;
    if (seen.elsewhere ? forgotten : !Lives(r)) return Remove(folder, name);
    seen.program = Clean(r.program);
    seen.uuid = Clean(r.uuid);
    seen.device = Clean(r.device);
    seen.command = (seen.elsewhere ? std::nullopt : CommandOf(r.pid)).value_or(seen.program);
    found_.seen.push_back(std::move(seen));
  }

  void Remove(int folder, const std::string& name) { unlinkat(folder, name.c_str(), 0); }

  // A process that became another by exec shows what that shows, and no more.
  void Supersede() {
    std::map<std::pair<uint64_t, uint32_t>, uint64_t> latest;
    for (const Seen& seen : found_.seen) {
      uint64_t& image = latest[{seen.record.space, seen.record.pid}];
      image = std::max(image, seen.record.image);
    }
    std::erase_if(found_.seen, [&latest](const Seen& seen) {
      return seen.record.image < latest[{seen.record.space, seen.record.pid}];
    });
  }

  const uint64_t space_ = ProcessNumberSpace();
  Found found_;
  std::set<std::pair<dev_t, ino_t>> folders_;
  size_t unsaid_ = 0;
};

}  // namespace

std::vector<UserFolder> Places() {
  std::vector<UserFolder> places = LivePlaces();
  places.push_back({absl::StrCat("/run/user/", geteuid()), "vramspan"});
  return places;
}

Found Find(const std::vector<UserFolder>& places) {
  Finder finder;
  for (const UserFolder& place : places) finder.LookInto(place);
  return finder.Take();
}

uint64_t SteadyNow() {
  return static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
}

}  // namespace vramspan::top
