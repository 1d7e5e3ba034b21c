// The most that something was in the last half minute: nothing of that is missing, and nothing from
// before the last 40 seconds is in it.
//
// Pure: the instants come in, and never go back. Threads: one at a time.
#ifndef VRAMSPAN_RUNTIME_BACKING_RECENT_PEAK_H_
#define VRAMSPAN_RUNTIME_BACKING_RECENT_PEAK_H_

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>

#include "runtime/base/units.h"

namespace vramspan {

class RecentPeak {
 public:
  static constexpr int kPeriods = 4;
  static constexpr Duration kPeriod = std::chrono::seconds(10);

  void Note(Bytes most, Instant now) {
    Advance(now);
    Bytes& period = periods_[Index(now)];
    period = std::max(period, most);
  }
  Bytes Get(Instant now) {
    Advance(now);
    return *std::max_element(periods_.begin(), periods_.end());
  }

 private:
  static int64_t Number(Instant at) { return at.time_since_epoch() / kPeriod; }
  static size_t Index(Instant at) { return static_cast<uint64_t>(Number(at)) % kPeriods; }
  // The periods that began since have nothing yet.
  void Advance(Instant now) {
    const int64_t number = Number(now);
    const int64_t passed = std::clamp<int64_t>(number - latest_, 0, kPeriods);
    for (int64_t i = 0; i < passed; ++i) {
      periods_[static_cast<uint64_t>(number - i) % kPeriods] = Bytes(0);
    }
    latest_ = std::max(latest_, number);
  }

  std::array<Bytes, kPeriods> periods_{};
  int64_t latest_ = 0;
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_BACKING_RECENT_PEAK_H_
