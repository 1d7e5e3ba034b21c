// The daemon's clocks: when something happens, and what it cost.
#ifndef VRAMSPAN_TOOLS_BROKER_SERVER_CLOCK_H_
#define VRAMSPAN_TOOLS_BROKER_SERVER_CLOCK_H_

#include <time.h>

#include "runtime/base/units.h"

namespace vramspan::broker {

inline Duration ReadClock(clockid_t clock) {
  timespec t = {};
  clock_gettime(clock, &t);
  return std::chrono::seconds(t.tv_sec) + std::chrono::nanoseconds(t.tv_nsec);
}

inline Instant Now() { return Instant(ReadClock(CLOCK_MONOTONIC)); }

// What the one thread has computed.
inline Duration Spent() { return ReadClock(CLOCK_THREAD_CPUTIME_ID); }

}  // namespace vramspan::broker

#endif  // VRAMSPAN_TOOLS_BROKER_SERVER_CLOCK_H_
