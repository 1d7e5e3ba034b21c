// Sizes as users write them.
#ifndef VRAMSPAN_RUNTIME_BASE_SIZE_TEXT_H_
#define VRAMSPAN_RUNTIME_BASE_SIZE_TEXT_H_

#include <cstdint>
#include <optional>
#include <string_view>

#include "runtime/base/status.h"
#include "runtime/base/units.h"

namespace vramspan {

// What ParseSize takes, for messages.
inline constexpr std::string_view kSizeAllowed =
    "bytes, or a number with a unit, as 8GiB (also B, KiB, MiB, TiB) or 1.5GB (also KB, MB, TB)";

// "4096", "512MiB", "8GiB", "1.5GB" (1000s), "2TiB": a positive number of bytes. The unit's case
// matters ("8Gib" is bits to most readers and is refused). Errors name the text and what is
// allowed.
StatusOr<Bytes> ParseSize(std::string_view text);

// digits / 10^places, exact. Doubles would turn 0.1TiB into something a user did not write.
struct Decimal {
  uint64_t digits = 0;
  uint64_t scale = 1;  // 10^places, at most 10^9.
};

// Takes "12" or "12.5" off the front of *rest. Nothing when there is no such number or it has more
// digits than fit.
std::optional<Decimal> TakeDecimal(std::string_view* rest);

// "'<text>' <why>; use <allowed>".
Status RefuseSize(std::string_view text, std::string_view why, std::string_view allowed);

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_BASE_SIZE_TEXT_H_
