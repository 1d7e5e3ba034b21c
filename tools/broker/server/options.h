// How the daemon was started.
#ifndef VRAMSPAN_TOOLS_BROKER_SERVER_OPTIONS_H_
#define VRAMSPAN_TOOLS_BROKER_SERVER_OPTIONS_H_

#include <optional>
#include <string>

#include "runtime/base/status.h"
#include "runtime/base/units.h"
#include "tools/broker/core/settings.h"

namespace vramspan::broker {

struct Capacity {
  Bytes device, host;
};

struct Options {
  std::string run_directory;
  std::string config;
  std::optional<Capacity> capacity;  // Instead of what NVML and the kernel say. For tests.
  Settings settings;                 // Of each device.
  std::string metrics;               // Where they are served; empty: nowhere.
  std::string metrics_file;          // Where they are written; empty: nowhere.
  std::string proc = "/proc";        // Where cgroups and meminfo are read. For tests.
};

// "device=8GiB,host=16GiB", both of them.
StatusOr<Capacity> ParseCapacity(std::string_view text);

// Of the command line. Errors are for who typed it.
StatusOr<Options> ParseOptions(int argc, char** argv);

}  // namespace vramspan::broker

#endif  // VRAMSPAN_TOOLS_BROKER_SERVER_OPTIONS_H_
