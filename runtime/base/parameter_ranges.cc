#include "runtime/base/parameter_ranges.h"

#include <charconv>

namespace vramspan {
namespace {

void AppendHex(uint32_t number, std::string* text) {
  char digits[8];
  const auto [end, error] = std::to_chars(digits, digits + sizeof(digits), number, 16);
  text->append(digits, end);
}

// A number and what stands behind it, which are taken away.
bool TakeHex(std::string_view* text, char behind, uint32_t* number) {
  const char* const begin = text->data();
  const auto [end, error] = std::from_chars(begin, begin + text->size(), *number, 16);
  const auto taken = static_cast<size_t>(end - begin);
  // One way to write each: no sign, no zero before it, no capital letters.
  std::string again;
  if (error != std::errc()) return false;
  AppendHex(*number, &again);
  if (text->substr(0, taken) != again) return false;
  text->remove_prefix(taken);
  if (behind == '\0') return true;
  if (text->empty() || text->front() != behind) return false;
  text->remove_prefix(1);
  return true;
}

}  // namespace

std::string ParameterRangesText(const ParameterRanges& ranges) {
  std::string text;
  for (const ParameterRange& range : ranges) {
    if (!text.empty()) text += ',';
    AppendHex(range.at, &text);
    if (range.bytes != sizeof(uint32_t)) (text += '.') += static_cast<char>('0' + range.bytes);
    text += ':';
    AppendHex(range.first, &text);
    text += '-';
    AppendHex(range.last, &text);
  }
  return text;
}

std::optional<ParameterRanges> ParseParameterRanges(std::string_view text) {
  ParameterRanges ranges;
  while (ranges.size() < kMostParameterRanges) {
    uint32_t at = 0, bytes = sizeof(uint32_t), first = 0, last = 0;
    const bool short_word = text.find('.') < text.find(':');
    if (!TakeHex(&text, short_word ? '.' : ':', &at) || at > UINT16_MAX) return std::nullopt;
    if (short_word && (!TakeHex(&text, ':', &bytes) || (bytes != 1 && bytes != 2))) {
      return std::nullopt;
    }
    if (at % bytes != 0 || !TakeHex(&text, '-', &first) || !TakeHex(&text, '\0', &last)) {
      return std::nullopt;
    }
    ranges.push_back({static_cast<uint16_t>(at), first, last, static_cast<uint8_t>(bytes)});
    if (text.empty()) return ranges;
    if (text.front() != ',') return std::nullopt;
    text.remove_prefix(1);
  }
  return std::nullopt;
}

}  // namespace vramspan
