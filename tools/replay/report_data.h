// What a report is made of: the JSON of `vramspan replay`, checked, and grouped by trace.
#ifndef VRAMSPAN_TOOLS_REPLAY_REPORT_DATA_H_
#define VRAMSPAN_TOOLS_REPLAY_REPORT_DATA_H_

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/status.h"

namespace vramspan::replay {

// Bytes and counts are doubles here: they are drawn, and both JSON and JavaScript have no more.
struct ReportKernel {
  std::string name, why;
  double launches = 0, resident_ms = 0, predicted_ms = 0, stall_ms = 0;
  double bytes_in_place = 0, fetches = 0;
};

struct ReportTimeline {
  struct Allocation {
    std::string name;
    double bytes = 0;
    std::vector<double> resident;  // The part of it on the device, by bin.
  };
  size_t bins = 0;
  double bin_ms = 0;
  std::vector<Allocation> allocations;
  std::vector<double> device_bytes, fetches, stall_ms;  // By bin.
};

struct ReportRun {
  std::string policy;
  double budget = 0;              // Bytes of device memory.
  std::optional<double> percent;  // Of the trace's peak.
  double chunk = 0;               // Bytes; 0: by size.
  std::string overlap;            // As `vramspan run` takes it, or anything else.
  double predicted_ms = 0, resident_ms = 0, slowdown = 0;
  std::optional<double> round_ms, resident_round_ms;  // Where the program repeats itself.
  double stall_ms = 0, stall_copy_ms = 0, stall_vmm_ms = 0, stall_drain_ms = 0;
  double fetches = 0;
  std::optional<double> bound_fetches;
  bool bound_exact = true;  // False: near to the fewest possible, but not proven.
  double moves_in = 0, moves_out = 0, served_in_place = 0;
  double bytes_in = 0, bytes_out = 0, bytes_in_place = 0;
  std::vector<ReportKernel> kernels;
  std::optional<ReportTimeline> timeline;

  bool bound() const { return policy == "min"; }  // Not to be had, only to compare with.
};

struct ReportCurve {
  struct Point {
    double memory = 0, misses = 0, miss_ratio = 0;
  };
  std::string policy;
  double chunk = 0, accesses = 0, distinct_bytes = 0, error = 0;
  bool sampled = false;
  std::vector<Point> points;  // By memory.
};

struct ReportTrace {
  std::string file, program, device;
  double works = 0, kernels = 0, allocations = 0, peak_bytes = 0, recorded_ms = 0;
  double round_works = 0;
  bool estimated_times = false;
  std::optional<double> waits, waited_ms;  // Of the program for its device, where they were told.
  std::vector<std::string> problems, notes;
};

struct ReportCase {
  ReportTrace trace;
  std::vector<ReportRun> runs;
  std::vector<ReportCurve> curves;
};

struct ReportData {
  std::vector<ReportCase> cases;                            // In order of appearance.
  std::vector<std::pair<std::string, std::string>> prices;  // Name (dotted) and value.
};

// InvalidArgument names the field that is wrong.
StatusOr<ReportData> ReadReportData(const nlohmann::json& replay);

}  // namespace vramspan::replay

#endif  // VRAMSPAN_TOOLS_REPLAY_REPORT_DATA_H_
