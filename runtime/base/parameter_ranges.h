// What must hold of a launch's parameters for its code to take no address from memory: words that
// lie in ranges. Code that multiplies what its arguments name, or what a table names, chooses by
// such a word ("when 1c:4-2" in docs/trust.md).
//
// Pure. Texts are parsed as from a stranger.
#ifndef VRAMSPAN_RUNTIME_BASE_PARAMETER_RANGES_H_
#define VRAMSPAN_RUNTIME_BASE_PARAMETER_RANGES_H_

#include <algorithm>
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

// All of them must hold.
using ParameterRanges = std::vector<ParameterRange>;
// One of them is enough. None: whatever the parameters are.
using ParameterCases = std::vector<ParameterRanges>;
inline constexpr size_t kMostParameterRanges = 8;  // Of a case, of which there are so many:
inline constexpr size_t kMostParameterCases = 4;

// Whether one holds, by what is said of a range. REQUIRES: there is one.
template <typename Holds>
bool AnyHolds(const ParameterCases& cases, const Holds& holds) {
  return std::any_of(cases.begin(), cases.end(), [&holds](const ParameterRanges& ranges) {
    return std::all_of(ranges.begin(), ranges.end(), holds);
  });
}

// "1c:4-2,20.1:0-0/24:1-1": two cases, of two ranges and of one. Each number is in hexadecimal
// digits without zeros before it. Behind a dot stands of how many bytes the word is, if not of 4.
std::string ParameterCasesText(const ParameterCases& cases);
// Nothing where it is not such a text, of at least one range.
std::optional<ParameterCases> ParseParameterCases(std::string_view text);

// "the word at byte 28 of its parameters is not 3 and the byte at 32 is 0 to 5".
std::string ParameterCasesInWords(const ParameterCases& cases);

// Where a case of each holds. The same in whatever order several are put together, but for cases
// beyond the most, which are left out. Nothing: so few ranges do not say it.
std::optional<ParameterCases> BothHold(const ParameterCases& one, const ParameterCases& other);

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_BASE_PARAMETER_RANGES_H_
