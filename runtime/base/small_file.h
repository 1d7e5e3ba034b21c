// Small files that anybody may have written or put a link in the place of: read whole, and only up
// to a bound, or appended to.
#ifndef VRAMSPAN_RUNTIME_BASE_SMALL_FILE_H_
#define VRAMSPAN_RUNTIME_BASE_SMALL_FILE_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "runtime/base/status.h"

namespace vramspan {

// NotFound where there is no file, InvalidArgument where it is longer than `most` bytes,
// FailedPrecondition where it cannot be read; each names the file. Follows no link, and does not
// wait for a pipe's writer.
StatusOr<std::string> ReadSmallFile(const std::string& path, size_t most);

// Appends to the regular file, which is made where there is none. Follows no link, raises no signal
// (RLIMIT_FSIZE), and waits for no reader. An error names the file.
Status AppendToFile(const std::string& path, std::string_view text);

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_BASE_SMALL_FILE_H_
