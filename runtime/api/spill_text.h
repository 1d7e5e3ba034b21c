// What a program is told of too little device memory: what it will cost, and at its end what it
// has.
#ifndef VRAMSPAN_RUNTIME_API_SPILL_TEXT_H_
#define VRAMSPAN_RUNTIME_API_SPILL_TEXT_H_

#include <chrono>
#include <string>

#include "include/vramspan/vramspan.h"
#include "runtime/base/units.h"
#include "runtime/placement/prices.h"

namespace vramspan {

// What the line at the end says beside statistics.
struct SpillFacts {
  std::chrono::nanoseconds short_for{};  // Since device memory first ran short.
  Bytes most_on_host;                    // The most that lay there at once; 0: not known.
  uint64_t held_up = 0;                  // Tracer::launches_held_up
  bool read = false;                     // Their code was read.
};

// A sentence. Empty where nothing moved, and nothing was served from host memory.
std::string SpillText(const vramspanStatistics& s, const SpillFacts& facts, const Prices& prices);

// What helps when device memory is short.
struct ShortageHelp {
  bool measured = false;  // The prices are this device's.
  bool brokered = false;
  Bytes spare;  // Device memory that a budget of the user's leaves unused.
};

// The end of the line that says that memory is short: what it costs by the prices, and what helps.
std::string ShortageNote(const Prices& prices, const ShortageHelp& help);

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_API_SPILL_TEXT_H_
