#include "runtime/backing/budget.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <optional>

namespace vramspan {

StatusOr<Bytes> ParseBudget(std::string_view text, Bytes whole) {
  const std::string allowed = absl::StrCat("a percentage above 0% and up to 100%, ", kSizeAllowed);
  if (text.empty() || text.back() != '%') {
    StatusOr<Bytes> size = ParseSize(text);
    if (size.ok()) return size;
    return RefuseSize(text, "is not a budget", allowed);
  }
  std::string_view rest = text.substr(0, text.size() - 1);
  const std::optional<Decimal> percent = TakeDecimal(&rest);
  if (!percent.has_value() || !rest.empty())
    return RefuseSize(text, "is not a percentage", allowed);
  if (percent->digits == 0 || percent->digits > 100 * percent->scale) {
    return RefuseSize(text, "is outside the range", allowed);
  }
  // digits <= 100 * scale <= 10^11: the product fits 128 bits.
  const unsigned __int128 bytes =
      static_cast<unsigned __int128>(percent->digits) * whole.value / percent->scale / 100;
  if (bytes == 0) {
    return RefuseSize(text, absl::StrCat("of ", whole.value, " bytes is 0 bytes"), allowed);
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
