// The mover's clock, as decisions have its times.
#ifndef VRAMSPAN_RUNTIME_MOVER_NOW_H_
#define VRAMSPAN_RUNTIME_MOVER_NOW_H_

#include <chrono>

#include "runtime/base/units.h"

namespace vramspan {

inline Instant InstantOf(std::chrono::steady_clock::time_point t) {
  return Instant(t.time_since_epoch());
}
inline Instant Now() { return InstantOf(std::chrono::steady_clock::now()); }

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_MOVER_NOW_H_
