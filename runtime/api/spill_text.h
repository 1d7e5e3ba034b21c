// What a program is told at its end of what too little device memory has cost it.
#ifndef VRAMSPAN_RUNTIME_API_SPILL_TEXT_H_
#define VRAMSPAN_RUNTIME_API_SPILL_TEXT_H_

#include <chrono>
#include <string>

#include "include/vramspan/vramspan.h"

namespace vramspan {

// A sentence. Empty where nothing moved, and nothing was served from host memory. `short_for`:
// since device memory first ran short.
std::string SpillText(const vramspanStatistics& s, std::chrono::nanoseconds short_for);

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_API_SPILL_TEXT_H_
