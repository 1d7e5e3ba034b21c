// What programs of one user say to each other of one device: their budgets, and what they have
// taken of them. $XDG_RUNTIME_DIR/vramspan/claims-<uuid>.v1, of a fixed size, written in place
// under a lock.
//
// The lock is the kernel's and ends with its holder. Who does not get it within some tries goes on
// without; nobody waits by the clock, so a machine that was paused has had its tries all the same.
// The file is opened for each use (claims_place.h), so a child of fork does not have it.
//
// A claim counts while it is renewed. Of one that has lapsed, as where its process is stopped, what
// was taken counts alone, and that while the process lives: same number, same start. Of a process
// in another namespace nothing can be known, so nothing of its claim counts then.
//
// A process that became another by exec has no part in what it claimed before: it finds that by a
// number by chance, and takes it out. Where it makes no claims itself the old one lapses.
//
// What stands there is trusted no further than to be numbers. A file that is none of this kind is
// as good as empty, and written over.
//
// Threads: one at a time. Errors: those of ClaimsPlace. Unavailable also where another program
// holds the lock, ResourceExhausted where too many programs have claims.
#ifndef VRAMSPAN_RUNTIME_BACKING_CLAIMS_FILE_H_
#define VRAMSPAN_RUNTIME_BACKING_CLAIMS_FILE_H_

#include <absl/functional/function_ref.h>
#include <sys/stat.h>
#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/backing/claim_rule.h"
#include "runtime/backing/claims_place.h"
#include "runtime/backing/claims_table.h"
#include "runtime/base/status.h"
#include "runtime/base/units.h"

namespace vramspan {

// A claim is renewed as often as that, and lapses when that has not happened three times.
constexpr Duration kClaimRenewal = std::chrono::seconds(5);
constexpr Duration kClaimLapse = kClaimRenewal * 3;

struct OwnClaim {
  Bytes budget, taken, keeps;
  bool wants = false;
};

class ClaimsFile {
 public:
  // `folder` is XDG_RUNTIME_DIR. Nothing is opened yet.
  ClaimsFile(const std::string& folder, std::string_view device_uuid);

  // Announces what `decide` makes of what the others have announced, under the lock. It is written
  // only where it is news, or old. `now` is of the steady clock, which all programs share.
  using Decide = absl::FunctionRef<OwnClaim(const OtherClaims& others)>;
  Status Exchange(Instant now, int tries, Decide decide);
  // Another program may have written since. Costs two calls of the system's.
  bool Changed() const;
  void Leave();  // Takes the own claim out.

  const std::string& path() const { return place_.path(); }

 private:
  bool IsOwn(const ClaimRecord& r) const;
  bool Lives(const ClaimRecord& r, uint64_t now) const;
  OtherClaims OthersIn(const ClaimsTable& table, uint64_t now) const;
  void Saw(const std::optional<struct stat>& file, Instant now);

  ClaimsPlace place_;
  // Which of the claims is this one's: a process may have several runtimes.
  const pid_t pid_;
  const uint64_t start_, space_, image_;
  const uint16_t serial_;
  // As it was when it was last locked, and since when it has been that. Two writings may have the
  // same time, as coarse as the kernel's is: only what has been so for a while tells.
  struct Seen {
    struct stat file;
    Instant since;
    bool settled = false;
  };
  std::optional<Seen> seen_;
  std::optional<uint64_t> writings_;  // Of the table, after the last exchange.
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_BACKING_CLAIMS_FILE_H_
