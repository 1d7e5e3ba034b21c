#include "runtime/placement/pace.h"

#include <algorithm>

namespace vramspan {
namespace {

// Doubles, for a product of bytes and nanoseconds can pass 2^64. No factor passes 2^63, and what
// has a sign is faster to convert.
double Double(uint64_t value) { return static_cast<double>(static_cast<int64_t>(value)); }

}  // namespace

void Pace::Start(uint64_t in_hand, bool running, double per_byte) {
  const uint64_t one_work = ahead_->most_missing();
  slack_ = static_cast<double>(std::max(one_work, in_hand));
  extra_ = slack_ - static_cast<double>(one_work);
  origin_ = running ? ahead_->Start(1) : 0;
  per_byte_ = per_byte;
  found_at_ = found_for_ = 0;
}

bool Pace::Due(uint32_t work, uint32_t needed_by, uint64_t planned) {
  const uint32_t first = found_for_ == needed_by ? std::max(found_at_, work) : work;
  const Lookahead::Lacks here = ahead_->LacksBefore(work + 1);
  if (needed_by == ahead_->works()) {
    const double away = Double(ahead_->Start(work) - origin_);
    if (away < per_byte_ * Double(here.missing + here.on_the_way)) return true;
  }
  if (first >= needed_by) return false;
  const Lookahead::Lacks all = ahead_->LacksBefore(needed_by);
  const double total = slack_ + Double(all.missing + all.on_the_way);
  const double time = Double(ahead_->Start(needed_by) - origin_);
  const auto late = [&](uint32_t w, uint64_t missing) {
    return Double(ahead_->Start(w) - origin_) * total < time * (Double(missing - planned) + extra_);
  };
  uint64_t missing = first == work ? here.missing : ahead_->LacksBefore(first + 1).missing;
  uint32_t found = first;
  if (!late(first, missing)) {
    // Of works that lack nothing of their own the first has the least time, for as many bytes. So
    // of several none is late if the first of them is not with all that they lack.
    found = ahead_->FindMissing(
        first + 1, needed_by,
        [&](uint32_t w, uint64_t through) {
          const bool none = !late(w, through);
          if (none) missing = through;
          return none;
        },
        [&](uint32_t w, uint64_t bytes) { return late(w, missing += bytes); });
  }
  if (found == needed_by) return false;
  found_at_ = found;
  found_for_ = needed_by;
  return true;
}

}  // namespace vramspan
