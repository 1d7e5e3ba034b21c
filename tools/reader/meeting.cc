#include "tools/reader/meeting.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/str_split.h>
#include <absl/strings/strip.h>
#include <dirent.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <limits>
#include <optional>
#include <vector>

#include "runtime/base/digits.h"
#include "runtime/base/keyed_files.h"
#include "runtime/base/process_start.h"
#include "runtime/base/user_folder.h"
#include "tools/reader/exchange.h"
#include "tools/reader/kept_readings.h"

namespace vramspan::reader {
namespace {

constexpr char kBegin[] = "reading-";
constexpr time_t kDay = 24 * 60 * 60;

struct Whose {
  uint64_t space = 0;
  pid_t program = 0;
  uint64_t start = 0;  // 0: nobody knew.
};

std::optional<Whose> ParseName(std::string_view name) {
  if (!absl::ConsumePrefix(&name, kBegin)) return std::nullopt;
  const std::vector<std::string_view> fields = absl::StrSplit(name, '-');
  Whose whose;
  uint64_t program = 0;
  const auto number = [](std::string_view field, uint64_t* into) {
    return !field.empty() && ParseDigits(field, into);
  };
  if (fields.size() != 4 || fields[3].empty() || !number(fields[0], &whose.space) ||
      !number(fields[1], &program) || !number(fields[2], &whose.start) || program == 0 ||
      program > static_cast<uint64_t>(std::numeric_limits<pid_t>::max())) {
    return std::nullopt;
  }
  whose.program = static_cast<pid_t>(program);
  return whose;
}

std::string NewName(pid_t program) {
  uint32_t number = 0;
  // Without it the name is still one of this program's alone.
  static_cast<void>(getrandom(&number, sizeof(number), GRND_NONBLOCK));
  return absl::StrCat(kBegin, ProcessNumberSpace(), "-", program, "-",
                      ProcessStart(program).value_or(0), "-", absl::Hex(number, absl::kZeroPad8));
}

bool HasEnded(const Whose& whose, const std::string& path) {
  if (whose.space != ProcessNumberSpace()) {
    struct stat folder = {};
    return lstat(path.c_str(), &folder) == 0 &&
           time(nullptr) - folder.st_mtime > Meeting::kDaysOfStrangers * kDay;
  }
  if (kill(whose.program, 0) != 0 && errno == ESRCH) return true;
  return whose.start != 0 && ProcessStart(whose.program) != whose.start;
}

void Sweep(const std::string& place) {
  DIR* const all = opendir(place.c_str());
  if (all == nullptr) return;
  std::vector<std::string> ended;
  int looks = 0;
  while (const dirent* const entry = readdir(all)) {
    const std::optional<Whose> whose = ParseName(entry->d_name);
    if (!whose.has_value()) continue;
    if (++looks > Meeting::kMostLooks) break;
    std::string path = absl::StrCat(place, "/", entry->d_name);
    if (HasEnded(*whose, path)) ended.push_back(std::move(path));
  }
  closedir(all);
  for (const std::string& path : ended) RemoveExchange(path);
}

bool Exists(const std::string& path) {
  struct stat s;
  return lstat(path.c_str(), &s) == 0;
}

// The user's folder `vramspan` in one that may have to be made, too.
StatusOr<std::string> PlaceIn(const std::string& base) {
  if (const size_t slash = base.rfind('/'); slash != 0 && !Exists(base)) {
    VS_RETURN_IF_ERROR(MakeUserFolder({base.substr(0, slash), base.substr(slash + 1)}).status());
  }
  VS_RETURN_IF_ERROR(CheckOnThisMachine(base));
  std::string place = base + "/vramspan";
  if (!Exists(place)) VS_RETURN_IF_ERROR(MakeUserFolder({base, "vramspan"}).status());
  return place;
}

StatusOr<std::string> CacheOfUser() {
  VS_ASSIGN_OR_RETURN(const KeyedFiles files, KeyedFiles::OfUser(kReadFiles));
  const std::string folder = files.folder();  // CACHE/vramspan/read
  const size_t above = folder.rfind('/', folder.rfind('/') - 1);
  return folder.substr(0, above);
}

StatusOr<std::string> RuntimeFolder() {
  const char* const folder = secure_getenv("XDG_RUNTIME_DIR");
  if (folder != nullptr && folder[0] == '/') return std::string(folder);
  return absl::NotFoundError("XDG_RUNTIME_DIR is no absolute path");
}

StatusOr<std::string> MakeIn(const StatusOr<std::string>& base, const std::string& name) {
  VS_RETURN_IF_ERROR(base.status());
  VS_ASSIGN_OR_RETURN(const std::string place, PlaceIn(*base));
  Sweep(place);
  std::string path = absl::StrCat(place, "/", name);
  Status made = MakeUserFolder({place, name}).status();
  if (made.ok()) made = MakeExchange(path);
  if (made.ok()) return path;
  RemoveExchange(path);
  // It may be there all the same, where no descriptor is left to look into it.
  rmdir(path.c_str());
  return made;
}

}  // namespace

bool IsMeetingName(std::string_view name) { return ParseName(name).has_value(); }

StatusOr<std::unique_ptr<Meeting>> Meeting::Make(pid_t program) {
  const std::string name = NewName(program);
  StatusOr<std::string> path = MakeIn(CacheOfUser(), name);
  if (!path.ok()) {
    const StatusOr<std::string> other = MakeIn(RuntimeFolder(), name);
    if (!other.ok()) {
      return absl::UnavailableError(
          absl::StrCat(path.status().message(), "; ", other.status().message()));
    }
    path = other;
  }
  return std::unique_ptr<Meeting>(new Meeting(*std::move(path)));
}

Meeting::~Meeting() { RemoveExchange(path_); }

}  // namespace vramspan::reader
