// What `vramspan info` finds out, as data, before it becomes text.
#ifndef VRAMSPAN_TOOLS_VRAMSPAN_INFO_REPORT_H_
#define VRAMSPAN_TOOLS_VRAMSPAN_INFO_REPORT_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/backing/costs.h"
#include "runtime/backing/host_access.h"
#include "runtime/driver/driver.h"
#include "tools/vramspan/info_evidence.h"
#include "tools/vramspan/info_host.h"

namespace vramspan::info {

struct Options {
  bool simulate = false;
  std::optional<int> device;  // None: all.
  std::string format = "table";
  bool measure = false;  // Measure although there are figures.
};

struct DeviceReport {
  Capabilities capabilities;
  std::string surroundings;          // Where it is not a card on Linux.
  std::string link;                  // What the kernel shows of its PCIe link.
  std::string locked;                // How memory is locked, and which limit does not stop that.
  Status works;                      // Why vramspan cannot work on it.
  std::optional<HostAccess> access;  // None where it could not be tried; `access_note` says why.
  std::string access_note;           // Also why no kernel tried it.
  std::optional<bool> stream_waits;  // None where they were not tried.
  std::optional<Status> counters;    // Why no audit can count here; none where it was not tried.
  std::optional<Bytes> free_memory;
  std::optional<Bytes> device_budget, host_budget;  // The defaults at this moment.
  std::optional<DeviceCosts> costs;
  std::string costs_note;  // Where they come from, or why there are none.
  bool costs_cached = false;
};

struct Report {
  std::string driver_path;
  int driver_version = 0;
  bool simulated = false;
  HostReport host;
  std::vector<TrustSource> trust;
  StatusOr<std::string> code_reader;
  std::vector<DeviceReport> devices;

  bool AnyWorks() const;
};

// An error where there is no driver, no device, or not the device asked for. What is wrong with a
// device stands in its report. Warnings (a cache that cannot be written) go to stderr.
StatusOr<Report> MakeReport(const Options& options);

std::string ToTable(const Report& report);
std::string ToJson(const Report& report);

}  // namespace vramspan::info

#endif  // VRAMSPAN_TOOLS_VRAMSPAN_INFO_REPORT_H_
