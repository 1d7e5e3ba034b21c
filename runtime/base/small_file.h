// Small files that anybody may have written: read whole, and only up to a bound.
#ifndef VRAMSPAN_RUNTIME_BASE_SMALL_FILE_H_
#define VRAMSPAN_RUNTIME_BASE_SMALL_FILE_H_

#include <cstddef>
#include <string>

#include "runtime/base/status.h"

namespace vramspan {

// NotFound where there is no file, InvalidArgument where it is longer than `most` bytes,
// FailedPrecondition where it cannot be read; each names the file. Follows no link, and does not
// wait for a pipe's writer.
StatusOr<std::string> ReadSmallFile(const std::string& path, size_t most);

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_BASE_SMALL_FILE_H_
