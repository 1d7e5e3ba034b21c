// What held work waited for, by cause.
//
// Pure: no clock, no lock.
#ifndef VRAMSPAN_RUNTIME_SCHEDULER_STALLS_H_
#define VRAMSPAN_RUNTIME_SCHEDULER_STALLS_H_

#include <algorithm>

#include "runtime/base/units.h"

namespace vramspan {

struct Stalls {
  Duration calls{0};   // Calls on mappings.
  Duration copies{0};  // While something moved.
  Duration drain{0};   // Work in flight, and nothing else.

  // So much time passed while work was held, so much of it in calls; `moving`: anything moved.
  void Add(Duration passed, Duration in_calls, bool moving) {
    const Duration called = std::min(passed, in_calls);
    calls += called;
    (moving ? copies : drain) += passed - called;
  }
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_SCHEDULER_STALLS_H_
