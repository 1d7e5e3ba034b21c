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
  const absl::Span<const Lookahead::Lack> lacks = ahead_->lacks();
  // What is lacking before the first, second, ... of them.
  const auto missing = [&](size_t count) { return count == 0 ? 0 : lacks[count - 1].missing; };
  const auto on_the_way = [&](size_t count) {
    return count == 0 ? 0 : lacks[count - 1].on_the_way;
  };
  if (needed_by == ahead_->works()) {
    const size_t count = ahead_->LacksBefore(work + 1);
    const uint64_t to_come = missing(count) + on_the_way(count);
    const auto away = static_cast<double>(ahead_->Start(work) - origin_);
    if (away < per_byte_ * static_cast<double>(to_come)) return true;
  }
  // Doubles: a product of bytes and nanoseconds can pass 2^64.
  const size_t end = ahead_->LacksBefore(needed_by);
  const double total = slack_ + static_cast<double>(missing(end) + on_the_way(end));
  const auto time = static_cast<double>(ahead_->Start(needed_by) - origin_);
  uint32_t w = found_for_ == needed_by ? std::max(found_at_, work) : work;
  if (w >= needed_by) return false;
  // Of works that lack nothing of their own the first has the least time, for as many bytes.
  for (size_t next = ahead_->LacksBefore(w + 1);; ++next) {
    const auto bytes = static_cast<double>(missing(next) - planned);
    if (static_cast<double>(ahead_->Start(w) - origin_) * total < time * (bytes + extra_)) {
      found_at_ = w;
      found_for_ = needed_by;
      return true;
    }
    while (next < end && !lacks[next].misses) ++next;
    if (next >= end) return false;
    w = lacks[next].work;
  }
}

}  // namespace vramspan
