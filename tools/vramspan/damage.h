// What is wrong with a trace that could be read all the same. It goes to stderr, what could be read
// is used, and the exit code is 1.
#ifndef VRAMSPAN_TOOLS_VRAMSPAN_DAMAGE_H_
#define VRAMSPAN_TOOLS_VRAMSPAN_DAMAGE_H_

#include <string>
#include <vector>

#include "runtime/base/status.h"

namespace vramspan {

// A line each, with the file's name.
void SayProblems(const std::string& path, const std::vector<std::string>& problems);

// What a command returns when all is done: DataLoss where there are problems.
Status CheckWhole(const std::string& path, const std::vector<std::string>& problems);

}  // namespace vramspan

#endif  // VRAMSPAN_TOOLS_VRAMSPAN_DAMAGE_H_
