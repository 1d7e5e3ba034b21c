// What traced_bench measured, and how it is printed.
#ifndef VRAMSPAN_BENCH_WORKLOADS_TRACED_REPORT_H_
#define VRAMSPAN_BENCH_WORKLOADS_TRACED_REPORT_H_

#include <string>
#include <vector>

#include "bench/workloads/machine.h"
#include "bench/workloads/traced_passes.h"

namespace vramspan::bench {

// Ways to run the same thing. The others are traced runs, named by what may overlap.
inline constexpr const char* kResident = "resident";  // All of it in plain device memory.
inline constexpr const char* kHost = "host";          // All of it in mapped host memory.
inline constexpr const char* kSplit = "split";        // As much on the device as fits, for good.
inline constexpr const char* kByHand = "by hand";     // The same, and the rest double buffered.

struct Row {
  std::string workload;
  std::string what;  // The case: all rows with the same are comparable.
  std::string way;
  Timing timing;
  double bound = 0;  // Seconds a pass, at the least.
  bool right = true;
  bool estimated = false;  // Too slow to run: from the times of its parts.
  bool traced = false;
  Statistics before = {}, after = {};

  // Of a counter, a pass.
  double Each(uint64_t Statistics::*counter) const {
    return timing.passes == 0 ? 0
                              : static_cast<double>(after.*counter - before.*counter) /
                                    static_cast<double>(timing.passes);
  }
};

struct LaunchRow {
  std::string kernel;  // By what it is given.
  std::string way;
  double us = 0;     // A launch, on the launching thread.
  double added = 0;  // To the plain one.
};

struct Report {
  std::string machine;
  double link_rate = 0;  // Bytes a second, inwards.
  size_t budget = 0;
  std::vector<LaunchRow> launches;
  std::vector<Row> rows;

  // Behind the rows of the same case.
  void Add(Row row);
  // Null where the case was not run in this way.
  const Row* Find(const Row& like, const std::string& way) const;
  // Seconds of the row over those of the same case in another way; 0 where there is none.
  double Ratio(const Row& row, const std::string& way) const;
  bool right() const;

  void PrintTable() const;
  void PrintJson() const;
};

}  // namespace vramspan::bench

#endif  // VRAMSPAN_BENCH_WORKLOADS_TRACED_REPORT_H_
