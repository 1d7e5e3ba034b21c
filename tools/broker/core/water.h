// Weighted water-filling: who gets how much of a capacity.
//
// share = clamp(level * weight, floor, ceiling), with the level at which the shares use up the
// capacity. In whole bytes: the sum is never above the capacity, and below it only where all have
// their ceilings.
//
// Where the capacity does not hold the floors, what is beyond the hard parts is dealt out in
// proportion to what the floors have beyond them. Where it does not hold the hard parts either,
// everybody has that and no more: it cannot be taken.
//
// Pure: no state.
#ifndef VRAMSPAN_TOOLS_BROKER_CORE_WATER_H_
#define VRAMSPAN_TOOLS_BROKER_CORE_WATER_H_

#include <cstdint>
#include <span>

#include "runtime/base/units.h"

namespace vramspan::broker {

struct Share {
  uint32_t weight = 1;  // REQUIRES: 1 to 2^14.
  Bytes hard;           // REQUIRES: hard <= floor <= ceiling.
  Bytes floor;
  Bytes ceiling;
  Bytes share;           // The result.
  bool settled = false;  // While it is worked out.
};

// At most 2^20 shares.
void Waterfill(Bytes capacity, std::span<Share> shares);

}  // namespace vramspan::broker

#endif  // VRAMSPAN_TOOLS_BROKER_CORE_WATER_H_
