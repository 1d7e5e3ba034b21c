#include "tools/broker/server/device_name.h"

#include <absl/strings/ascii.h>
#include <absl/strings/escaping.h>
#include <absl/strings/str_cat.h>

#include <algorithm>

namespace vramspan::broker {

std::string UuidText(const Uuid& uuid) {
  const std::string hex = absl::BytesToHexString(
      std::string_view(reinterpret_cast<const char*>(uuid.data()), uuid.size()));
  const std::string_view h = hex;
  return absl::StrCat("GPU-", h.substr(0, 8), "-", h.substr(8, 4), "-", h.substr(12, 4), "-",
                      h.substr(16, 4), "-", h.substr(20));
}

std::optional<Uuid> ParseUuid(std::string_view text) {
  if (!text.starts_with("GPU-")) return std::nullopt;
  std::string hex;
  for (const char c : text.substr(4)) {
    if (c == '-') continue;
    if (!absl::ascii_isxdigit(static_cast<unsigned char>(c))) return std::nullopt;
    hex += c;
  }
  if (hex.size() != 32) return std::nullopt;
  const std::string bytes = absl::HexStringToBytes(hex);
  Uuid uuid;
  std::copy_n(bytes.begin(), uuid.size(), reinterpret_cast<char*>(uuid.data()));
  return uuid;
}

}  // namespace vramspan::broker
