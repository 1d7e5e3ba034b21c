// Runs another program the way a shell does.
#ifndef VRAMSPAN_TOOLS_VRAMSPAN_RUN_PROGRAM_H_
#define VRAMSPAN_TOOLS_VRAMSPAN_RUN_PROGRAM_H_

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/status.h"

namespace vramspan {

inline constexpr int kExitNotRunnable = 126;
inline constexpr int kExitNotFound = 127;

// Runs `program` (found in PATH where it names no folder) with these variables set, waits for its
// end, and returns its exit code; 128 and the signal where one killed it. Once `enough`, which is
// asked every 20 ms, is true, it and all that it started are interrupted, and ended ten seconds
// later, by force after ten more. Keyboard interrupts are its own meanwhile. NotFound
// and FailedPrecondition: it could not be started.
StatusOr<int> RunProgram(const std::vector<std::string>& program,
                         const std::vector<std::pair<std::string, std::string>>& environment,
                         const std::function<bool()>& enough = nullptr);

}  // namespace vramspan

#endif  // VRAMSPAN_TOOLS_VRAMSPAN_RUN_PROGRAM_H_
