#include "tools/replay/standstill.h"

#include <absl/strings/str_cat.h>

namespace vramspan::replay {
namespace {

Status StoodStill(uint64_t now, std::string_view what) {
  return absl::InternalError(absl::StrCat(
      "the replay stands still ", now / 1'000'000, " ms from its begin: ", what,
      "; other settings may do, and the fault is worth a report, with the traces and the command"));
}

}  // namespace

Status Standstill::Step(uint64_t now, uint64_t next, bool alive) {
  if (next == kNever) return StoodStill(now, "every program waits, and nothing is due");
  if (alive) alive_at_ = now;
  if (now - alive_at_ > kLongest)
    return StoodStill(now, "no program has done anything for an hour");
  still_ = next > now ? 0 : still_ + 1;
  if (still_ >= kMostStill)
    return StoodStill(now, "there is always something to do, and no time passes");
  return absl::OkStatus();
}

}  // namespace vramspan::replay
