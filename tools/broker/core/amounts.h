// Arithmetic on what strangers say: a sum ends at the largest number, a difference at nothing.
#ifndef VRAMSPAN_TOOLS_BROKER_CORE_AMOUNTS_H_
#define VRAMSPAN_TOOLS_BROKER_CORE_AMOUNTS_H_

#include <cstdint>

#include "runtime/base/units.h"

namespace vramspan::broker {

using Wide = unsigned __int128;

inline constexpr Bytes kAllBytes{UINT64_MAX};

constexpr Bytes Plus(Bytes a, Bytes b) {
  return a.value > UINT64_MAX - b.value ? kAllBytes : Bytes(a.value + b.value);
}

constexpr Bytes Minus(Bytes a, Bytes b) {
  return a.value < b.value ? Bytes() : Bytes(a.value - b.value);
}

// `part` of `of`, rounded down. REQUIRES: of > 0.
constexpr Bytes PartOf(Bytes whole, uint64_t part, uint64_t of) {
  const Wide result = Wide{whole.value} * part / of;
  return result > UINT64_MAX ? kAllBytes : Bytes(static_cast<uint64_t>(result));
}

// REQUIRES: wait >= 0.
constexpr Instant After(Instant begin, Duration wait) {
  return begin > Instant::max() - wait ? Instant::max() : begin + wait;
}

}  // namespace vramspan::broker

#endif  // VRAMSPAN_TOOLS_BROKER_CORE_AMOUNTS_H_
