// The statistics of a runtime as a person reads them: a table of a screen's width, what is zero
// left out where it says nothing.
#ifndef VRAMSPAN_RUNTIME_API_STATISTICS_TEXT_H_
#define VRAMSPAN_RUNTIME_API_STATISTICS_TEXT_H_

#include <string>

#include "include/vramspan/vramspan.h"
#include "runtime/base/status.h"

namespace vramspan {

std::string StatisticsText(const vramspanStatistics& s);

// Writes the text to what VRAMSPAN_STATS names: "-" is stderr, else a file, which is appended to.
// Does nothing where it names nothing. An error names the file.
Status WriteStatistics(const vramspanStatistics& s);

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_API_STATISTICS_TEXT_H_
