// How a program that knows nothing of vramspan is started with the preload in it: what `vramspan
// run` and `vramspan audit` have in common.
#ifndef VRAMSPAN_TOOLS_VRAMSPAN_RUN_START_H_
#define VRAMSPAN_TOOLS_VRAMSPAN_RUN_START_H_

#include <string>
#include <string_view>

#include "tools/vramspan/run_plan.h"

namespace vramspan::run {

// The variables to set for `program`, by this machine and this process's environment. Where the
// loader puts no preload into it, a line on stderr by `who` says so, if that `matters` or the
// loader would complain. Errors are as MakePlan's; the preload may be missing, too.
StatusOr<Plan> PlanFor(std::string_view who, const std::string& program, const Options& options,
                       bool matters);

// Each of the paths, which have colons between them, from the root on: the program may go elsewhere
// before it reads them. InvalidArgument where there is none.
StatusOr<std::string> AbsolutePaths(std::string_view option, std::string_view paths);

}  // namespace vramspan::run

#endif  // VRAMSPAN_TOOLS_VRAMSPAN_RUN_START_H_
