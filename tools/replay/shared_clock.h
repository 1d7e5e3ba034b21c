// The clock of all programs that are replayed together: nanoseconds from the first start on.
#ifndef VRAMSPAN_TOOLS_REPLAY_SHARED_CLOCK_H_
#define VRAMSPAN_TOOLS_REPLAY_SHARED_CLOCK_H_

#include <algorithm>
#include <cstdint>

#include "runtime/base/units.h"
#include "tools/replay/active_work.h"

namespace vramspan::replay {

// The broker has been there for a while when the first program comes.
inline constexpr uint64_t kBrokerBefore = 1'000'000'000;

inline Instant BrokerTime(uint64_t clock) { return InstantOf(clock + kBrokerBefore); }
inline uint64_t SharedClock(Instant t) {
  return std::max(NanosecondsOf(t), kBrokerBefore) - kBrokerBefore;
}

}  // namespace vramspan::replay

#endif  // VRAMSPAN_TOOLS_REPLAY_SHARED_CLOCK_H_
