#include "runtime/base/parameter_ranges.h"

#include <algorithm>
#include <charconv>
#include <tuple>

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

std::string ParameterRangesInWords(const ParameterRanges& ranges) {
  std::string text;
  const auto span = [&text](uint32_t first, uint32_t last) {
    text += std::to_string(first);
    if (first != last) text += " to " + std::to_string(last);
  };
  for (const ParameterRange& range : ranges) {
    const std::string at = std::to_string(range.at);
    text += text.empty() ? "the word at byte " + at + " of its parameters is "
                         : " and that at byte " + at + " is ";
    if (range.first <= range.last) {
      span(range.first, range.last);
    } else if (range.last + 1 == range.first) {
      text += "anything";
    } else {
      text += "not ";
      span(range.last + 1, range.first - 1);
    }
  }
  return text;
}

void AddParameterRanges(const ParameterRanges& more, ParameterRanges* all) {
  const auto key = [](const ParameterRange& r) { return std::tuple(r.at, r.first, r.last); };
  all->insert(all->end(), more.begin(), more.end());
  std::sort(all->begin(), all->end(),
            [&key](const ParameterRange& a, const ParameterRange& b) { return key(a) < key(b); });
  all->erase(std::unique(all->begin(), all->end()), all->end());
}

}  // namespace vramspan
