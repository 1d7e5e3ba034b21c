// Bytes and times as people read them.
#ifndef VRAMSPAN_TOOLS_VRAMSPAN_AMOUNT_TEXT_H_
#define VRAMSPAN_TOOLS_VRAMSPAN_AMOUNT_TEXT_H_

#include <absl/strings/str_cat.h>
#include <absl/strings/str_format.h>

#include <cstdint>
#include <string>

namespace vramspan {

inline std::string SizeText(uint64_t bytes) {
  const auto value = static_cast<double>(bytes);
  if (bytes >= uint64_t{10} << 30) return absl::StrFormat("%.1f GiB", value / (1 << 30));
  if (bytes >= uint64_t{10} << 20) return absl::StrFormat("%.1f MiB", value / (1 << 20));
  if (bytes >= uint64_t{10} << 10) return absl::StrFormat("%.1f KiB", value / (1 << 10));
  return absl::StrCat(bytes, " B");
}

inline std::string TimeText(uint64_t nanoseconds) {
  const auto value = static_cast<double>(nanoseconds);
  if (nanoseconds >= 10'000'000'000) return absl::StrFormat("%.1f s", value / 1e9);
  if (nanoseconds >= 10'000'000) return absl::StrFormat("%.1f ms", value / 1e6);
  return absl::StrFormat("%.1f us", value / 1e3);
}

}  // namespace vramspan

#endif  // VRAMSPAN_TOOLS_VRAMSPAN_AMOUNT_TEXT_H_
