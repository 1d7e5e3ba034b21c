#include "runtime/base/clean_text.h"

#include <cstdint>

namespace vramspan {
namespace {

// The length in bytes of the UTF-8 sequence at the start of `text` and its code point; 0 where
// there is none.
size_t DecodeOne(std::string_view text, uint32_t* point) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return *point = first, 1;
  const size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc2 ? 2 : 0;
  if (length == 0 || first > 0xf4 || text.size() < length) return 0;
  *point = first & (0xff >> (length + 1));
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
    *point = (*point << 6) | (byte(i) & 0x3f);
  }
  const uint32_t least = length == 2 ? 0x80 : length == 3 ? 0x800 : 0x10000;
  const bool surrogate = *point >= 0xd800 && *point < 0xe000;
  return *point < least || *point > 0x10ffff || surrogate ? 0 : length;
}

bool Harmless(uint32_t point) {
  const bool control = point < 0x20 || (point >= 0x7f && point < 0xa0);
  const bool separator = point == 0x2028 || point == 0x2029;
  const bool direction = point == 0x61c || (point >= 0x200e && point <= 0x200f) ||
                         (point >= 0x202a && point <= 0x202e) ||
                         (point >= 0x2066 && point <= 0x2069);
  return !control && !separator && !direction;
}

constexpr std::string_view kReplacement = "\xef\xbf\xbd";  // U+FFFD.
constexpr std::string_view kEllipsis = "\xe2\x80\xa6";     // U+2026.

}  // namespace

std::string CleanText(std::string_view text, size_t most) {
  std::string clean;
  while (!text.empty()) {
    uint32_t point = 0;
    const size_t length = DecodeOne(text, &point);
    const std::string_view piece =
        length != 0 && Harmless(point) ? text.substr(0, length) : kReplacement;
    if (piece.size() > most - clean.size()) return clean.append(kEllipsis);
    clean.append(piece);
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return clean;
}

std::string Repeated(std::string_view text) { return CleanText(text, 80); }

}  // namespace vramspan
