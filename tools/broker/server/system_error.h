// What a call of the system said, in words.
#ifndef VRAMSPAN_TOOLS_BROKER_SERVER_SYSTEM_ERROR_H_
#define VRAMSPAN_TOOLS_BROKER_SERVER_SYSTEM_ERROR_H_

#include <absl/strings/str_cat.h>

#include <cerrno>
#include <string_view>
#include <system_error>

#include "runtime/base/status.h"

namespace vramspan::broker {

// "<what>: No such file or directory", of errno.
inline Status SystemError(std::string_view what, int error = errno) {
  return absl::FailedPreconditionError(
      absl::StrCat(what, ": ", std::generic_category().message(error)));
}

}  // namespace vramspan::broker

#endif  // VRAMSPAN_TOOLS_BROKER_SERVER_SYSTEM_ERROR_H_
