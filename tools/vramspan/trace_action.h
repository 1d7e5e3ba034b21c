// What `vramspan trace` can do: each action is a subcommand of its own, made in the file that has
// it.
#ifndef VRAMSPAN_TOOLS_VRAMSPAN_TRACE_ACTION_H_
#define VRAMSPAN_TOOLS_VRAMSPAN_TRACE_ACTION_H_

#include <memory>
#include <string>

#include "runtime/base/status.h"
#include "tools/vramspan/command_options.h"

namespace vramspan::trace_command {

class Action {
 public:
  virtual ~Action() = default;
  virtual std::string name() const = 0;
  // Adds itself to `trace`.
  virtual void Define(CommandOptions& trace) = 0;
  // Results go to stdout. InvalidArgument: the command line was not understood (exit code 2); every
  // other error is one of what it was asked to do (1).
  virtual Status Run() = 0;
};

std::unique_ptr<Action> MakeInfo();    // trace_info.cc
std::unique_ptr<Action> MakeDump();    // trace_dump.cc
std::unique_ptr<Action> MakeStats();   // trace_stats.cc
std::unique_ptr<Action> MakeCurves();  // trace_curves.cc
std::unique_ptr<Action> MakeExport();  // trace_export.cc
std::unique_ptr<Action> MakeImport();  // trace_import.cc

}  // namespace vramspan::trace_command

#endif  // VRAMSPAN_TOOLS_VRAMSPAN_TRACE_ACTION_H_
