#include "runtime/backing/claims_file.h"

#include <absl/strings/str_cat.h>
#include <fcntl.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>
#include <thread>

#include "runtime/base/own_descriptor.h"
#include "runtime/base/process_start.h"
#include "runtime/base/quiet_write.h"
#include "runtime/base/user_folder.h"

namespace vramspan {
namespace {

constexpr std::chrono::milliseconds kBetweenTries{1};
constexpr std::chrono::milliseconds kWritePatience{10};
constexpr Duration kSettled = std::chrono::milliseconds(100);
// More than any device has; sums of these do not overflow.
constexpr uint64_t kMostClaimed = uint64_t{1} << 50;

constexpr uint64_t Nanoseconds(Duration d) { return static_cast<uint64_t>(d.count()); }

std::string NameOf(std::string_view device_uuid) {
  std::string name = "claims-";
  for (const char c : device_uuid.substr(0, 64)) {
    name += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '-';
  }
  return absl::StrCat(name, ".v", std::string(1, kClaimsVersion));
}

bool SetLock(int file, short type) {
  struct flock whole {};
  whole.l_type = type;
  whole.l_whence = SEEK_SET;
  return fcntl(file, F_OFD_SETLK, &whole) == 0;
}

// The file while it is locked, and what stands in it.
class LockedClaims {
 public:
  static StatusOr<std::unique_ptr<LockedClaims>> Open(ClaimsPlace* place, int tries) {
    const std::string& path = place->path();
    std::unique_ptr<LockedClaims> claims(new LockedClaims(path));
    VS_ASSIGN_OR_RETURN(const int opened, place->Open());
    claims->file_.Adopt(opened);
    for (int i = 1;; ++i) {
      VS_ASSIGN_OR_RETURN(const int file, claims->file_.Get());
      if (SetLock(file, F_WRLCK)) break;
      if (errno != EAGAIN && errno != EACCES && errno != EINTR) {
        return UserFileFailure(path, errno);
      }
      if (i >= tries) {
        return absl::UnavailableError(absl::StrCat("another program holds ", path));
      }
      std::this_thread::sleep_for(kBetweenTries);
    }
    VS_RETURN_IF_ERROR(claims->Read());
    return claims;
  }
  // A child of fork may have the descriptor as well, and must not keep the lock by that.
  ~LockedClaims() {
    if (const StatusOr<int> file = file_.Get(); file.ok()) SetLock(*file, F_UNLCK);
  }

  ClaimsTable& table() { return table_; }
  Status Write() {
    VS_ASSIGN_OR_RETURN(const int file, file_.Get());
    if (lseek(file, 0, SEEK_SET) != 0) return UserFileFailure(path_, errno);
    ++table_.writings;
    const std::string_view bytes(reinterpret_cast<const char*>(&table_), sizeof(table_));
    const int error = WriteQuietly(file, {bytes}, kWritePatience);
    if (error != 0) return UserFileFailure(path_, error);
    // What is larger was something else.
    struct stat s;
    if (fstat(file, &s) != 0 ||
        (s.st_size > static_cast<off_t>(sizeof(table_)) && ftruncate(file, sizeof(table_)) != 0)) {
      return UserFileFailure(path_, errno);
    }
    return absl::OkStatus();
  }
  std::optional<struct stat> AsItIs() const {
    struct stat s;
    const StatusOr<int> file = file_.Get();
    return file.ok() && fstat(*file, &s) == 0 ? std::optional<struct stat>(s) : std::nullopt;
  }

 private:
  explicit LockedClaims(const std::string& path) : path_(path) {}

  Status Read() {
    VS_ASSIGN_OR_RETURN(const int file, file_.Get());
    char bytes[sizeof(ClaimsTable) + 1];
    size_t have = 0;
    while (have < sizeof(bytes)) {
      const ssize_t got = pread(file, bytes + have, sizeof(bytes) - have, static_cast<off_t>(have));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return UserFileFailure(path_, errno);
      if (got == 0) break;
      have += static_cast<size_t>(got);
    }
    if (have == sizeof(ClaimsTable)) std::memcpy(&table_, bytes, sizeof(table_));
    if (table_.Valid()) return absl::OkStatus();
    table_ = ClaimsTable();
    std::memcpy(table_.magic, ClaimsTable::kMagic, sizeof(table_.magic));
    return absl::OkStatus();
  }

  const std::string path_;
  OwnDescriptor file_;
  ClaimsTable table_;
};

// Who waited for the lock may have looked at the clock before whoever had it.
bool Lapsed(const ClaimRecord& r, uint64_t now) {
  return r.until <= now || r.until - now > 2 * Nanoseconds(kClaimLapse);
}

bool SameWriting(const struct stat& a, const struct stat& b) {
  return a.st_ino == b.st_ino && a.st_size == b.st_size && a.st_mtim.tv_sec == b.st_mtim.tv_sec &&
         a.st_mtim.tv_nsec == b.st_mtim.tv_nsec;
}

// By chance, and so not what any image of this process had before. The time alone would do.
uint64_t ImageNumber() {
  static const uint64_t number = [] {
    uint64_t random = 0;
    static_cast<void>(!getrandom(&random, sizeof(random), GRND_NONBLOCK));
    struct timespec now {};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return random ^ (static_cast<uint64_t>(now.tv_sec) << 30 | static_cast<uint64_t>(now.tv_nsec));
  }();
  return number;
}

uint16_t NextSerial() {
  static std::atomic<uint16_t> latest{0};
  return ++latest;
}

}  // namespace

ClaimsFile::ClaimsFile(const std::string& folder, std::string_view device_uuid)
    : place_(folder, NameOf(device_uuid)),
      pid_(getpid()),
      start_(ProcessStart(pid_).value_or(0)),
      space_(ProcessNumberSpace()),
      image_(ImageNumber()),
      serial_(NextSerial()) {}

OtherClaims ClaimsFile::OthersIn(const ClaimsTable& table, uint64_t now) const {
  OtherClaims others;
  for (const ClaimRecord& r : table.records) {
    if (IsOwn(r) || !Lives(r, now)) continue;
    const Bytes budget(std::min(r.budget, kMostClaimed)), taken(std::min(r.taken, kMostClaimed));
    if (Lapsed(r, now)) {
      others.lapsed += taken;
      continue;
    }
    ++others.count;
    others.taken += taken;
    others.ahead += LessOrNone(budget, taken);
    others.spare += LessOrNone(std::max(budget, taken), Bytes(r.keeps));
    others.wants |= r.wants != 0;
  }
  return others;
}

Status ClaimsFile::Exchange(Instant at, int tries, Decide decide) {
  if (getpid() != pid_ || start_ == 0 || space_ == 0) {
    return absl::FailedPreconditionError("this process is not known");
  }
  VS_ASSIGN_OR_RETURN(const auto claims, LockedClaims::Open(&place_, tries));
  Saw(claims->AsItIs(), at);
  ClaimsTable& table = claims->table();
  const auto now = static_cast<uint64_t>(at.time_since_epoch().count());
  ClaimRecord *own = nullptr, *empty = nullptr;
  for (ClaimRecord& r : table.records) {
    if (IsOwn(r)) {
      own = &r;
    } else if (empty == nullptr && !Lives(r, now)) {
      empty = &r;
    }
  }
  if (own == nullptr) own = empty;
  if (own == nullptr) {
    return absl::ResourceExhaustedError(absl::StrCat("too many programs are in ", path()));
  }
  OtherClaims others = OthersIn(table, now);
  others.news = writings_ != table.writings;
  writings_ = table.writings;
  const OwnClaim claim = decide(others);
  const ClaimRecord news = {.start = start_,
                            .space = space_,
                            .image = image_,
                            .budget = claim.budget.value,
                            .taken = claim.taken.value,
                            .keeps = claim.keeps.value,
                            .until = now + Nanoseconds(kClaimLapse),
                            .pid = static_cast<uint32_t>(pid_),
                            .serial = serial_,
                            .wants = static_cast<uint16_t>(claim.wants)};
  ClaimRecord old = *own;
  const bool fresh = !Lapsed(old, now + Nanoseconds(kClaimLapse - kClaimRenewal));
  old.until = news.until;
  if (fresh && std::memcmp(&old, &news, sizeof(old)) == 0) return absl::OkStatus();
  *own = news;
  const Status written = claims->Write();
  writings_ = written.ok() ? std::optional<uint64_t>(table.writings) : std::nullopt;
  Saw(claims->AsItIs(), at);
  return written;
}

void ClaimsFile::Saw(const std::optional<struct stat>& file, Instant now) {
  if (!file.has_value()) {
    seen_.reset();
  } else if (!seen_.has_value() || !SameWriting(seen_->file, *file)) {
    seen_ = {*file, now};
  } else if (now - seen_->since > kSettled) {
    seen_->settled = true;
  }
}

bool ClaimsFile::Changed() const {
  struct stat s;
  return !seen_.has_value() || !seen_->settled || !place_.Stat(&s) || !SameWriting(seen_->file, s);
}

void ClaimsFile::Leave() {
  if (getpid() != pid_) return;
  constexpr int kTries = 20;
  const auto claims = LockedClaims::Open(&place_, kTries);
  // Where it cannot be had now the claim ends with the process.
  if (!claims.ok()) return;
  for (ClaimRecord& r : (*claims)->table().records) {
    if (!IsOwn(r)) continue;
    r = ClaimRecord();
    static_cast<void>((*claims)->Write());
  }
}

bool ClaimsFile::IsOwn(const ClaimRecord& r) const {
  return r.pid == static_cast<uint32_t>(pid_) && r.start == start_ && r.space == space_ &&
         r.image == image_ && r.serial == serial_;
}

bool ClaimsFile::Lives(const ClaimRecord& r, uint64_t now) const {
  if (r.pid == 0 || r.pid > INT32_MAX) return false;
  if (r.space != space_) return !Lapsed(r, now);
  if (r.pid == static_cast<uint32_t>(pid_)) return r.start == start_ && r.image == image_;
  return ProcessStart(static_cast<pid_t>(r.pid)) == r.start;
}

}  // namespace vramspan
