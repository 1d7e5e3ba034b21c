#include "runtime/backing/budget.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "runtime/base/clean_text.h"

namespace vramspan {
namespace {

constexpr std::string_view kSizeAllowed =
    "bytes, or a number with a unit, as 8GiB (also B, KiB, MiB, TiB) or 1.5GB (also KB, MB, TB)";

// Room to spare below 2^64, so that callers may add and round up without a thought of overflow.
constexpr uint64_t kLargest = std::numeric_limits<int64_t>::max();

struct Unit {
  std::string_view name;
  uint64_t bytes;
};
constexpr Unit kUnits[] = {
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

Status Refuse(std::string_view text, std::string_view why, std::string_view allowed) {
  return absl::InvalidArgumentError(
      absl::StrCat("'", Repeated(text), "' ", why, "; use ", allowed));
}

// digits / 10^places, exact. Doubles would turn 0.1TiB into something a user did not write.
struct Decimal {
  uint64_t digits = 0;
  uint64_t scale = 1;  // 10^places, at most 10^9.
};

// Takes "12" or "12.5" off the front of *rest. Nothing when there is no such number or it has more
// digits than fit.
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

// digits * factor / scale, rounded down; nothing when it is more than kLargest.
std::optional<uint64_t> Times(const Decimal& d, uint64_t factor) {
  const unsigned __int128 product = static_cast<unsigned __int128>(d.digits) * factor / d.scale;
  if (product > kLargest) return std::nullopt;
  return static_cast<uint64_t>(product);
}

}  // namespace

StatusOr<Bytes> ParseSize(std::string_view text) {
  std::string_view rest = text;
  const std::optional<Decimal> number = TakeDecimal(&rest);
  if (!number.has_value()) return Refuse(text, "is not a size", kSizeAllowed);
  uint64_t unit = 1;
  if (!rest.empty()) {
    const auto found = std::find_if(std::begin(kUnits), std::end(kUnits),
                                    [&](const Unit& u) { return u.name == rest; });
    if (found == std::end(kUnits)) {
      return Refuse(text, absl::StrCat("ends in '", Repeated(rest), "', which is not a unit"),
                    kSizeAllowed);
    }
    unit = found->bytes;
  }
  if (unit == 1 && number->scale != 1) {
    return Refuse(text, "is a fraction of a byte", kSizeAllowed);
  }
  const std::optional<uint64_t> bytes = Times(*number, unit);
  if (!bytes.has_value()) return Refuse(text, "is more than 2^63 bytes", kSizeAllowed);
  if (*bytes == 0) return Refuse(text, "is 0 bytes", kSizeAllowed);
  return Bytes(*bytes);
}

StatusOr<Bytes> ParseBudget(std::string_view text, Bytes whole) {
  const std::string allowed = absl::StrCat("a percentage above 0% and up to 100%, ", kSizeAllowed);
  if (text.empty() || text.back() != '%') {
    StatusOr<Bytes> size = ParseSize(text);
    if (size.ok()) return size;
    return Refuse(text, "is not a budget", allowed);
  }
  std::string_view rest = text.substr(0, text.size() - 1);
  const std::optional<Decimal> percent = TakeDecimal(&rest);
  if (!percent.has_value() || !rest.empty()) return Refuse(text, "is not a percentage", allowed);
  if (percent->digits == 0 || percent->digits > 100 * percent->scale) {
    return Refuse(text, "is outside the range", allowed);
  }
  // digits <= 100 * scale <= 10^11: the product fits 128 bits.
  const unsigned __int128 bytes =
      static_cast<unsigned __int128>(percent->digits) * whole.value / percent->scale / 100;
  if (bytes == 0) {
    return Refuse(text, absl::StrCat("of ", whole.value, " bytes is 0 bytes"), allowed);
  }
  return Bytes(static_cast<uint64_t>(bytes));
}

Bytes DeviceHeadroom(Bytes total, Bytes free) {
  return std::min(std::max(GiB(1), Bytes(total.value / 40)), Bytes(free.value / 10));
}

Bytes DefaultDeviceBudget(Bytes total, Bytes free) {
  const Bytes room = free - DeviceHeadroom(total, free);
  return Bytes(room.value / kGranularity.value * kGranularity.value);
}

}  // namespace vramspan
