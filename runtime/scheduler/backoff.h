// Exponential back-off: what failed is not tried again for a while, for twice as long each time.
#ifndef VRAMSPAN_RUNTIME_SCHEDULER_BACKOFF_H_
#define VRAMSPAN_RUNTIME_SCHEDULER_BACKOFF_H_

#include <algorithm>

#include "runtime/base/units.h"

namespace vramspan {

class Backoff {
 public:
  static constexpr int kMostDoublings = 7;

  // `tried`: how long it was tried for. Not again for twice that, then four times, ...
  void Failed(Duration tried, Instant now) {
    doublings_ = std::min(doublings_ + 1, kMostDoublings);
    until_ = now + tried * (1 << doublings_);
  }
  // The next failure is the first again. What holds already goes on.
  void Succeeded() { doublings_ = 0; }
  bool Holds(Instant now) const { return now < until_; }

 private:
  int doublings_ = 0;
  Instant until_;
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_SCHEDULER_BACKOFF_H_
