// What `vramspan trace` can do.
#ifndef VRAMSPAN_TOOLS_VRAMSPAN_TRACE_ACTION_H_
#define VRAMSPAN_TOOLS_VRAMSPAN_TRACE_ACTION_H_

#include <memory>

#include "tools/vramspan/action.h"

namespace vramspan::trace_command {

std::unique_ptr<Action> MakeInfo();    // trace_info.cc
std::unique_ptr<Action> MakeDump();    // trace_dump.cc
std::unique_ptr<Action> MakeStats();   // trace_stats.cc
std::unique_ptr<Action> MakeCurves();  // trace_curves.cc
std::unique_ptr<Action> MakeExport();  // trace_export.cc
std::unique_ptr<Action> MakeImport();  // trace_import.cc

}  // namespace vramspan::trace_command

#endif  // VRAMSPAN_TOOLS_VRAMSPAN_TRACE_ACTION_H_
