#include "runtime/placement/pace.h"

#include <algorithm>

namespace vramspan {

void Pace::Start(uint64_t in_hand, bool running, double per_byte) {
  const uint64_t one_work = ahead_->most_missing();
  slack_ = static_cast<double>(std::max(one_work, in_hand));
  extra_ = slack_ - static_cast<double>(one_work);
  origin_ = running ? ahead_->Start(1) : 0;
  per_byte_ = per_byte;
  found_at_ = found_for_ = 0;
}

bool Pace::Due(uint32_t work, uint32_t needed_by, uint64_t planned) {
  if (needed_by == ahead_->works()) {
    const uint64_t to_come = ahead_->MissingBefore(work + 1) + ahead_->OnTheWayBefore(work + 1);
    const auto away = static_cast<double>(ahead_->Start(work) - origin_);
    if (away < per_byte_ * static_cast<double>(to_come)) return true;
  }
  // Doubles: a product of bytes and nanoseconds can pass 2^64.
  const double total = slack_ + static_cast<double>(ahead_->MissingBefore(needed_by) +
                                                    ahead_->OnTheWayBefore(needed_by));
  const auto time = static_cast<double>(ahead_->Start(needed_by) - origin_);
  uint32_t w = found_for_ == needed_by ? std::max(found_at_, work) : work;
  for (; w < needed_by; ++w) {
    const auto bytes = static_cast<double>(ahead_->MissingBefore(w + 1) - planned);
    if (static_cast<double>(ahead_->Start(w) - origin_) * total < time * (bytes + extra_)) {
      found_at_ = w;
      found_for_ = needed_by;
      return true;
    }
  }
  return false;
}

}  // namespace vramspan
