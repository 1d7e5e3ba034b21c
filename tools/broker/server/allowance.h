// What a tenant may cost the daemon: a two-hundredth of a core, with something saved up for bursts.
// With what is not charged (waking up, looking round) that stays below a hundredth.
#ifndef VRAMSPAN_TOOLS_BROKER_SERVER_ALLOWANCE_H_
#define VRAMSPAN_TOOLS_BROKER_SERVER_ALLOWANCE_H_

#include <algorithm>

#include "runtime/base/units.h"

namespace vramspan::broker {

class Allowance {
 public:
  static constexpr int kOneIn = 200;
  // A choice: 200 processes may come at once.
  static constexpr Duration kMost = std::chrono::milliseconds(250);

  // Never filled before: it is full.
  explicit Allowance(Instant now) : at_(now) {}

  // An instant before the last one's counts as that.
  void Fill(Instant now) {
    if (now <= at_) return;
    // Longer than it takes to fill is no more.
    const Duration passed = std::min<Duration>(now - at_, 2 * kOneIn * kMost);
    left_ = std::min<Duration>(kMost, left_ + passed / kOneIn);
    at_ = now;
  }
  // It may become less than nothing, and is filled from there. A single thing costs no more than
  // what can be saved up: nobody is shut out for long.
  void Charge(Duration cost) { left_ = std::max<Duration>(-kMost, left_ - cost); }

  bool empty() const { return left_ <= Duration(0); }
  bool full() const { return left_ >= kMost; }

 private:
  Instant at_;
  Duration left_ = kMost;
};

}  // namespace vramspan::broker

#endif  // VRAMSPAN_TOOLS_BROKER_SERVER_ALLOWANCE_H_
