// What must hold of a launch's parameters for its code to take no address from memory: words that
// lie in ranges. Code that multiplies what its arguments name, or what a table names, chooses by
// such a word ("when 1c:4-2" in docs/trust.md).
//
// Pure. Texts are parsed as from a stranger.
#ifndef VRAMSPAN_RUNTIME_BASE_PARAMETER_RANGES_H_
#define VRAMSPAN_RUNTIME_BASE_PARAMETER_RANGES_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace vramspan {

// A word of the parameters, and what it may be: from `first` up to `last`, by way of 0 if that is
// the lower one. So all but 3 are from 4 to 2.
struct ParameterRange {
  uint16_t at = 0;  // In bytes from where the parameters begin; a multiple of `bytes`.
  uint32_t first = 0, last = 0;
  uint8_t bytes = 4;  // The word's: 1, 2 or 4.

  constexpr bool Has(uint32_t word) const { return word - first <= last - first; }
  bool operator==(const ParameterRange&) const = default;
};

// All of them must hold. None: whatever the parameters are.
using ParameterRanges = std::vector<ParameterRange>;
inline constexpr size_t kMostParameterRanges = 8;

// "1c:4-2,20.1:0-0", each number in hexadecimal digits without zeros before it. Behind a dot stands
// of how many bytes the word is, if not of 4.
std::string ParameterRangesText(const ParameterRanges& ranges);
// Nothing where it is not such a text, of 1 to kMostParameterRanges.
std::optional<ParameterRanges> ParseParameterRanges(std::string_view text);

// "the word at byte 28 of its parameters is not 3 and that at byte 32 is 0 to 5".
std::string ParameterRangesInWords(const ParameterRanges& ranges);

// Adds those that `all` has not. The result is the same in whatever order it is made, and may be
// more than kMostParameterRanges.
void AddParameterRanges(const ParameterRanges& more, ParameterRanges* all);

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_BASE_PARAMETER_RANGES_H_
