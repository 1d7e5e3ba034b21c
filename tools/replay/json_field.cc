#include "tools/replay/json_field.h"

#include <absl/strings/str_cat.h>

#include <cmath>
#include <cstdint>
#include <utility>

namespace vramspan::replay {
namespace {

using nlohmann::json;

const json& Nothing() {
  static const json nothing;
  return nothing;
}

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
  const bool direction = (point >= 0x200e && point <= 0x200f) ||
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
    if (clean.size() + piece.size() > most) return clean.append(kEllipsis);
    clean.append(piece);
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return clean;
}

void JsonField::Fail(std::string_view why) const {
  if (!status_->ok()) return;
  *status_ =
      absl::InvalidArgumentError(absl::StrCat(path_.empty() ? "the document" : path_, ": ", why));
}

std::optional<JsonField> JsonField::Find(const char* key) const {
  if (!json_->is_object()) {
    Fail("not an object");
    return std::nullopt;
  }
  const auto found = json_->find(key);
  if (found == json_->end() || found->is_null()) return std::nullopt;
  return JsonField(*found, absl::StrCat(path_, path_.empty() ? "" : ".", key), status_);
}

JsonField JsonField::At(const char* key) const {
  if (const std::optional<JsonField> found = Find(key)) return *found;
  const JsonField missing(Nothing(), absl::StrCat(path_, path_.empty() ? "" : ".", key), status_);
  missing.Fail("missing");
  return missing;
}

std::vector<JsonField> JsonField::Items(size_t most) const {
  std::vector<JsonField> items;
  if (!json_->is_array()) {
    Fail("not a list");
    return items;
  }
  if (json_->size() > most) {
    Fail(absl::StrCat("a list of ", json_->size(), ", where at most ", most, " can be"));
    return items;
  }
  items.reserve(json_->size());
  for (size_t i = 0; i < json_->size(); ++i) {
    items.emplace_back((*json_)[i], absl::StrCat(path_, "[", i, "]"), status_);
  }
  return items;
}

double JsonField::Number(double low, double high) const {
  if (!json_->is_number()) {
    Fail("not a number");
    return low;
  }
  const double value = json_->get<double>();
  if (!std::isfinite(value) || value < low || value > high) {
    Fail(absl::StrCat(value, " is not between ", low, " and ", high));
    return low;
  }
  return value;
}

std::string JsonField::Text(size_t most) const {
  if (!json_->is_string()) {
    Fail("not a text");
    return {};
  }
  return CleanText(json_->get_ref<const std::string&>(), most);
}

bool JsonField::Flag() const {
  if (!json_->is_boolean()) {
    Fail("neither true nor false");
    return false;
  }
  return json_->get<bool>();
}

}  // namespace vramspan::replay
