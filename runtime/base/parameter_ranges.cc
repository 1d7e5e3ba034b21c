#include "runtime/base/parameter_ranges.h"

#include <algorithm>
#include <charconv>
#include <tuple>
#include <utility>

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

void AppendText(const ParameterRanges& ranges, std::string* text) {
  bool first = true;
  for (const ParameterRange& range : ranges) {
    if (!std::exchange(first, false)) *text += ',';
    AppendHex(range.at, text);
    if (range.bytes != sizeof(uint32_t)) (*text += '.') += static_cast<char>('0' + range.bytes);
    *text += ':';
    AppendHex(range.first, text);
    *text += '-';
    AppendHex(range.last, text);
  }
}

bool TakeRange(std::string_view* text, ParameterRange* range) {
  uint32_t at = 0, bytes = sizeof(uint32_t);
  const bool short_word = text->find('.') < text->find(':');
  if (!TakeHex(text, short_word ? '.' : ':', &at) || at > UINT16_MAX) return false;
  if (short_word && (!TakeHex(text, ':', &bytes) || (bytes != 1 && bytes != 2))) return false;
  range->at = static_cast<uint16_t>(at);
  range->bytes = static_cast<uint8_t>(bytes);
  return at % bytes == 0 && TakeHex(text, '-', &range->first) && TakeHex(text, '\0', &range->last);
}

std::string InWords(const ParameterRange& range) {
  const auto span = [](uint32_t first, uint32_t last) {
    return std::to_string(first) + (first != last ? " to " + std::to_string(last) : "");
  };
  if (range.first <= range.last) return span(range.first, range.last);
  if (range.last + 1 == range.first) return "anything";
  return "not " + span(range.last + 1, range.first - 1);
}

auto KeyOf(const ParameterRange& r) { return std::tuple(r.at, r.bytes, r.first, r.last); }

void Settle(ParameterRanges* ranges) {
  std::sort(ranges->begin(), ranges->end(),
            [](const auto& one, const auto& other) { return KeyOf(one) < KeyOf(other); });
  ranges->erase(std::unique(ranges->begin(), ranges->end()), ranges->end());
}

// Fewer ranges first, which hold more often.
bool Before(const ParameterRanges& one, const ParameterRanges& other) {
  if (one.size() != other.size()) return one.size() < other.size();
  return std::lexicographical_compare(
      one.begin(), one.end(), other.begin(), other.end(),
      [](const auto& a, const auto& b) { return KeyOf(a) < KeyOf(b); });
}

// A case that asks for all of an earlier one, and more, adds nothing.
ParameterCases WithoutNarrower(ParameterCases cases) {
  ParameterCases least;
  const auto less = [](const auto& a, const auto& b) { return KeyOf(a) < KeyOf(b); };
  for (ParameterRanges& one : cases) {
    const bool adds = std::none_of(least.begin(), least.end(), [&](const ParameterRanges& wider) {
      return std::includes(one.begin(), one.end(), wider.begin(), wider.end(), less);
    });
    if (adds) least.push_back(std::move(one));
  }
  return least;
}

}  // namespace

std::string ParameterCasesText(const ParameterCases& cases) {
  std::string text;
  for (const ParameterRanges& ranges : cases) {
    if (!text.empty()) text += '/';
    AppendText(ranges, &text);
  }
  return text;
}

std::optional<ParameterCases> ParseParameterCases(std::string_view text) {
  ParameterCases cases;
  for (char before = '/'; before != '\0';) {
    if (before == '/') cases.emplace_back();
    ParameterRange range;
    if (cases.size() > kMostParameterCases || cases.back().size() == kMostParameterRanges ||
        !TakeRange(&text, &range)) {
      return std::nullopt;
    }
    cases.back().push_back(range);
    before = text.empty() ? '\0' : text.front();
    if (before != '\0' && before != ',' && before != '/') return std::nullopt;
    text.remove_prefix(before == '\0' ? 0 : 1);
  }
  return cases;
}

std::string ParameterCasesInWords(const ParameterCases& cases) {
  std::string text;
  for (const ParameterRanges& ranges : cases) {
    const char* between = text.empty() ? "" : " or ";
    for (const ParameterRange& range : ranges) {
      const bool first = text.empty();
      text += between;
      text += range.bytes == sizeof(uint32_t) ? "the word at byte "
              : range.bytes == 1              ? "the byte at "
                                              : "the half word at byte ";
      text += std::to_string(range.at) + (first ? " of its parameters is " : " is ");
      text += InWords(range);
      between = " and ";
    }
  }
  return text;
}

std::optional<ParameterCases> BothHold(const ParameterCases& one, const ParameterCases& other) {
  ParameterCases both;
  for (const ParameterRanges& mine : one.empty() ? ParameterCases(1) : one) {
    for (const ParameterRanges& theirs : other.empty() ? ParameterCases(1) : other) {
      ParameterRanges all = mine;
      all.insert(all.end(), theirs.begin(), theirs.end());
      Settle(&all);
      if (all.size() <= kMostParameterRanges) both.push_back(std::move(all));
    }
  }
  if (both.empty()) return std::nullopt;
  std::sort(both.begin(), both.end(), Before);
  both.erase(std::unique(both.begin(), both.end()), both.end());
  // Whatever they are.
  if (both.front().empty()) return ParameterCases();
  both = WithoutNarrower(std::move(both));
  if (both.size() > kMostParameterCases) both.resize(kMostParameterCases);
  return both;
}

}  // namespace vramspan
