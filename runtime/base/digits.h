// Numbers in text that a stranger may have written.
#ifndef VRAMSPAN_RUNTIME_BASE_DIGITS_H_
#define VRAMSPAN_RUNTIME_BASE_DIGITS_H_

#include <absl/strings/numbers.h>

#include <cstdint>
#include <string_view>

namespace vramspan {

// Whether it is nothing but decimal digits, of a number that fits: SimpleAtoi takes signs and
// spaces as well.
inline bool ParseDigits(std::string_view text, uint64_t* value) {
  return text.find_first_not_of("0123456789") == std::string_view::npos &&
         absl::SimpleAtoi(text, value);
}

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_BASE_DIGITS_H_
