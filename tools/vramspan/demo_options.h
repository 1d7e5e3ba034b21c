// What the user asked of `vramspan demo`, as text, and what that comes to once the device is known.
// Errors name the option, its value and what is allowed; they are InvalidArgument, and the command
// then exits with 2.
#ifndef VRAMSPAN_TOOLS_VRAMSPAN_DEMO_OPTIONS_H_
#define VRAMSPAN_TOOLS_VRAMSPAN_DEMO_OPTIONS_H_

#include <optional>
#include <string>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/base/units.h"
#include "tools/vramspan/demo_program.h"

namespace vramspan::demo {

struct Options {
  std::string device_memory;  // Empty: half of the data.
  std::string data;           // Empty: twice the device memory, or a size that takes seconds.
  std::string chunk;
  std::string policy;
  std::string overlap;  // Of traced launches. Empty: `safe`.
  std::string format = "table";
  bool simulate = false;
  bool quick = false;
  bool declare = false;  // The program declares, even where launches can be traced.
  int device = 0;
};

// What can be checked before a driver is loaded.
Status CheckOptions(const Options& options);

// The size of the data where options and the kind of driver decide it; none where it takes the
// device's size (a percentage) to know.
StatusOr<std::optional<Bytes>> DataBeforeDevice(const Options& options, bool simulated);

struct Plan {
  Shape shape;
  Bytes device_memory;          // The budget that the data are to be twice as large as.
  std::vector<int> percents;    // Of the data, for further runs.
  bool headline_asked = false;  // The user gave the device memory.
};
// `total` and `room`: the device's memory, and what of it chunks can have. The data must fit there:
// results are compared with those of a run in which nothing moves.
StatusOr<Plan> MakePlan(const Options& options, bool simulated, Bytes total, Bytes room);

}  // namespace vramspan::demo

#endif  // VRAMSPAN_TOOLS_VRAMSPAN_DEMO_OPTIONS_H_
