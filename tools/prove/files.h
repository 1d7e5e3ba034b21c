// Which files of those that a user names are to be looked through.
#ifndef VRAMSPAN_TOOLS_PROVE_FILES_H_
#define VRAMSPAN_TOOLS_PROVE_FILES_H_

#include <string>
#include <vector>

#include "runtime/base/status.h"

namespace vramspan::prove {

// The file itself; or of a folder all files below it that begin as programs, libraries and images
// do, by name. Links in folders lead to files that are there as well, and are not followed.
// FailedPrecondition: a folder cannot be read.
StatusOr<std::vector<std::string>> FilesOf(const std::string& path);

}  // namespace vramspan::prove

#endif  // VRAMSPAN_TOOLS_PROVE_FILES_H_
