// Enumerators that come from C.
#ifndef VRAMSPAN_RUNTIME_API_CHECK_ENUM_H_
#define VRAMSPAN_RUNTIME_API_CHECK_ENUM_H_

#include <absl/strings/str_cat.h>

#include <cstring>

#include "runtime/base/status.h"

namespace vramspan {

// The caller may pass any number for an enum, also one that C++ does not know how to load as such.
template <typename Enum>
Status CheckEnum(const Enum& value, Enum last, const char* what) {
  int number = 0;
  static_assert(sizeof(number) == sizeof(value));
  std::memcpy(&number, &value, sizeof(number));
  if (number >= 0 && number <= static_cast<int>(last)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("unknown ", what, " ", number, "; use 0 to ", static_cast<int>(last)));
}

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_API_CHECK_ENUM_H_
