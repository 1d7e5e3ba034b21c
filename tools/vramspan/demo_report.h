// What the demo found, as a table for people or as JSON for programs.
#ifndef VRAMSPAN_TOOLS_VRAMSPAN_DEMO_REPORT_H_
#define VRAMSPAN_TOOLS_VRAMSPAN_DEMO_REPORT_H_

#include <string>
#include <vector>

#include "runtime/base/units.h"
#include "tools/vramspan/demo_launches.h"
#include "tools/vramspan/demo_program.h"

namespace vramspan::demo {

// Of the JSON. A minor version adds fields, a major one changes or removes some.
inline constexpr const char* kSchemaVersion = "1.1.0";

struct RunResult {
  std::string budget;        // "unlimited", "50 %", "device memory"
  Statistics at_start = {};  // Of the runtime, when the timed part began
  Statistics at_end = {};    // and when it was over.
  double seconds = 0;
  Digest digest;
};

struct Report {
  bool simulated = false;
  std::string driver;  // The library's path.
  int driver_version = 0;
  std::string device;
  Bytes device_total;
  std::string why_simulated;  // What is missing for a GPU; empty if it was asked for.
  std::string chunk, policy;
  Launches launches;
  Shape shape;
  Bytes headline_budget;
  std::vector<RunResult> runs;  // The unlimited one first.

  bool Identical(const RunResult& run) const { return run.digest == runs.front().digest; }
  bool AllIdentical() const;
};

std::string ToTable(const Report& report);
std::string ToJson(const Report& report);
// What all bytes came to, as one number.
uint64_t Fingerprint(const Digest& digest);

}  // namespace vramspan::demo

#endif  // VRAMSPAN_TOOLS_VRAMSPAN_DEMO_REPORT_H_
