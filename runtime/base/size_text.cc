#include "runtime/base/size_text.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <limits>

#include "runtime/base/clean_text.h"

namespace vramspan {
namespace {

// Room to spare below 2^64, so that callers may add and round up without a thought of overflow.
constexpr uint64_t kLargest = std::numeric_limits<int64_t>::max();

struct SizeUnit {
  std::string_view name;
  uint64_t bytes;
};
constexpr SizeUnit kSizeUnits[] = {
    {"B", 1},
    {"KiB", uint64_t{1} << 10},
    {"MiB", uint64_t{1} << 20},
    {"GiB", uint64_t{1} << 30},
    {"TiB", uint64_t{1} << 40},
    {"KB", 1000},
    {"MB", 1000 * 1000},
    {"GB", 1000 * 1000 * 1000},
    {"TB", uint64_t{1000} * 1000 * 1000 * 1000},
};

// digits * factor / scale, rounded down; nothing when it is more than kLargest.
std::optional<uint64_t> Times(const Decimal& d, uint64_t factor) {
  const unsigned __int128 product = static_cast<unsigned __int128>(d.digits) * factor / d.scale;
  if (product > kLargest) return std::nullopt;
  return static_cast<uint64_t>(product);
}

}  // namespace

Status RefuseSize(std::string_view text, std::string_view why, std::string_view allowed) {
  return absl::InvalidArgumentError(
      absl::StrCat("'", Repeated(text), "' ", why, "; use ", allowed));
}

std::optional<Decimal> TakeDecimal(std::string_view* rest) {
  Decimal d;
  size_t i = 0;
  const auto is_digit = [&](size_t k) {
    return k < rest->size() && (*rest)[k] >= '0' && (*rest)[k] <= '9';
  };
  const auto take = [&] {
    const uint64_t digit = static_cast<uint64_t>((*rest)[i++] - '0');
    if (d.digits > (kLargest - digit) / 10) return false;
    d.digits = d.digits * 10 + digit;
    return true;
  };
  if (!is_digit(0)) return std::nullopt;
  while (is_digit(i)) {
    if (!take()) return std::nullopt;
  }
  if (i < rest->size() && (*rest)[i] == '.') {
    ++i;
    if (!is_digit(i)) return std::nullopt;
    while (is_digit(i)) {
      if (d.scale == 1000 * 1000 * 1000 || !take()) return std::nullopt;
      d.scale *= 10;
    }
  }
  rest->remove_prefix(i);
  return d;
}

StatusOr<Bytes> ParseSize(std::string_view text) {
  std::string_view rest = text;
  const std::optional<Decimal> number = TakeDecimal(&rest);
  if (!number.has_value()) return RefuseSize(text, "is not a size", kSizeAllowed);
  uint64_t unit = 1;
  if (!rest.empty()) {
    const auto found = std::find_if(std::begin(kSizeUnits), std::end(kSizeUnits),
                                    [&](const SizeUnit& u) { return u.name == rest; });
    if (found == std::end(kSizeUnits)) {
      return RefuseSize(text, absl::StrCat("ends in '", Repeated(rest), "', which is not a unit"),
                        kSizeAllowed);
    }
    unit = found->bytes;
  }
  if (unit == 1 && number->scale != 1) {
    return RefuseSize(text, "is a fraction of a byte", kSizeAllowed);
  }
  const std::optional<uint64_t> bytes = Times(*number, unit);
  if (!bytes.has_value()) return RefuseSize(text, "is more than 2^63 bytes", kSizeAllowed);
  if (*bytes == 0) return RefuseSize(text, "is 0 bytes", kSizeAllowed);
  return Bytes(*bytes);
}

}  // namespace vramspan
