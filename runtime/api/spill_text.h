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

// A sentence. Empty where nothing moved, and nothing was served from host memory. `short_for`:
// since device memory first ran short.
std::string SpillText(const vramspanStatistics& s, std::chrono::nanoseconds short_for);

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
