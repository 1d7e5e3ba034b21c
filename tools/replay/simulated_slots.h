// Device memory that is nobody's, by size, as the runtime's slot pool keeps it (runtime/backing): a
// chunk of a size that none is left of needs memory made for it, for which what other sizes left
// goes back to the driver.
#ifndef VRAMSPAN_TOOLS_REPLAY_SIMULATED_SLOTS_H_
#define VRAMSPAN_TOOLS_REPLAY_SIMULATED_SLOTS_H_

#include <array>
#include <deque>

#include "tools/replay/replay_prices.h"

namespace vramspan::replay {

class SimulatedSlots {
 public:
  explicit SimulatedSlots(const ReplayPrices& prices) : prices_(prices) {}

  // Memory for a chunk of 2^log2 bytes: what the calls for it take, in microseconds. Beside it
  // there may be `room` bytes of unused memory. `*has_alias`: whether the memory is mapped
  // beside, for copies; where the caller wants that (`alias`), from here on.
  double Take(int log2, bool alias, Bytes room, bool* has_alias);
  void Give(int log2, bool has_alias);
  // Gives back what is beyond `room`: what the calls for it take, in microseconds.
  double Trim(Bytes room);
  Bytes bytes() const { return bytes_; }

 private:
  const ReplayPrices prices_;
  std::array<std::deque<bool>, kChunkSizeCount> slots_;  // Whether they have an alias; latest last.
  Bytes bytes_;                                          // In these.
};

}  // namespace vramspan::replay

#endif  // VRAMSPAN_TOOLS_REPLAY_SIMULATED_SLOTS_H_
