#include "tools/broker/words/turns_text.h"

#include <absl/strings/str_cat.h>

#include "runtime/base/clean_text.h"

namespace vramspan::broker {

StatusOr<bool> ParseTurns(std::string_view value) {
  if (value == "auto" || value == "off") return value == "auto";
  return absl::InvalidArgumentError(
      absl::StrCat("--turns takes auto or off, not '", Repeated(value), "'"));
}

}  // namespace vramspan::broker
