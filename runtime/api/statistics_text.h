// The statistics of a runtime as a person reads them: a table of a screen's width, what is zero
// left out where it says nothing.
#ifndef VRAMSPAN_RUNTIME_API_STATISTICS_TEXT_H_
#define VRAMSPAN_RUNTIME_API_STATISTICS_TEXT_H_

#include <absl/types/span.h>

#include <string>

#include "include/vramspan/vramspan.h"
#include "runtime/base/status.h"

namespace vramspan {

// Memory of a kind that is not a runtime's and was only counted.
struct PassedMemory {
  const char* what;
  uint64_t allocations, bytes;
};

std::string StatisticsText(const vramspanStatistics& s, absl::Span<const PassedMemory> passed = {});
// The same as one line of JSON: {"schema":"vramspan.stats","schema_version":1,"process":...}, every
// field of the struct under its name, and "passed".
std::string StatisticsJson(const vramspanStatistics& s, absl::Span<const PassedMemory> passed = {});

// Writes the text to what VRAMSPAN_STATS names: "-" is stderr, else a file, which is appended to;
// JSON where its name ends in .json. Does nothing where it names nothing. An error names the file.
Status WriteStatistics(const vramspanStatistics& s, absl::Span<const PassedMemory> passed = {});

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_API_STATISTICS_TEXT_H_
