// The demo from options to exit code: picks the driver, runs the program without a limit and then
// under one budget after the other, and reports.
#ifndef VRAMSPAN_TOOLS_VRAMSPAN_DEMO_RUN_H_
#define VRAMSPAN_TOOLS_VRAMSPAN_DEMO_RUN_H_

#include "runtime/base/status.h"
#include "tools/vramspan/demo_options.h"

namespace vramspan::demo {

// Prints the report on stdout and progress on stderr. Returns whether all results are identical.
// InvalidArgument for options that ask for what is not there.
StatusOr<bool> RunDemo(const Options& options);

}  // namespace vramspan::demo

#endif  // VRAMSPAN_TOOLS_VRAMSPAN_DEMO_RUN_H_
