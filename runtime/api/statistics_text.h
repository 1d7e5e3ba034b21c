// The statistics of a runtime as a person reads them: a table of a screen's width, what is zero
// left out where it says nothing.
#ifndef VRAMSPAN_RUNTIME_API_STATISTICS_TEXT_H_
#define VRAMSPAN_RUNTIME_API_STATISTICS_TEXT_H_

#include <absl/types/span.h>

#include <string>
#include <string_view>

#include "include/vramspan/vramspan.h"
#include "runtime/base/status.h"
#include "runtime/base/trust.h"

namespace vramspan {

// Memory of a kind that is not a runtime's and was only counted.
struct PassedMemory {
  const char* what;
  uint64_t allocations, bytes;
};

// Launches of one kernel, and how far its code is trusted, whatever they are given.
struct KernelTrust {
  std::string name;
  Trust trust = Trust::kUntried;
  std::string why;
  uint64_t launches = 0;
  uint64_t proven = 0;  // Of these, for what they were given.
  uint64_t module = 0;  // A hash of the image that holds it; 0: not known.
};

// What is told beside the numbers.
struct StatisticsDetails {
  absl::Span<const PassedMemory> passed;
  absl::Span<const KernelTrust> kernels;  // The most launched first.
};

std::string StatisticsText(const vramspanStatistics& s, const StatisticsDetails& details = {});
// The same as one line of JSON: {"schema":"vramspan.stats","schema_version":1,"process":...}, every
// field of the struct under its name, "passed" and "kernels".
std::string StatisticsJson(const vramspanStatistics& s, const StatisticsDetails& details = {});

// The same where there is no runtime though there was to be one: `where` ("on device 0"), and why.
// In JSON those are the fields "off_where" and "off".
std::string StatisticsOffText(std::string_view where, std::string_view why);
std::string StatisticsOffJson(std::string_view where, std::string_view why);

// Writes the text to what VRAMSPAN_STATS names: "-" is stderr, else a file, which is appended to;
// JSON where its name ends in .json. Does nothing where it names nothing. An error names the file.
// Follows no link and writes to no device; the program is never ended or kept by what it writes to.
Status WriteStatistics(const vramspanStatistics& s, const StatisticsDetails& details = {});
Status WriteStatisticsOff(std::string_view where, std::string_view why);

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_API_STATISTICS_TEXT_H_
