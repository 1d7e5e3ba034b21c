// Yes or no, as a variable of the environment says it.
#ifndef VRAMSPAN_RUNTIME_BASE_YES_NO_H_
#define VRAMSPAN_RUNTIME_BASE_YES_NO_H_

#include <optional>
#include <string_view>

namespace vramspan {

// What ParseYesNo takes, for messages.
inline constexpr std::string_view kYesNoWords = "1, yes, on, true, 0, no, off or false";

// In any case; none for everything else. Allocates nothing, so it may be asked before main.
constexpr std::optional<bool> ParseYesNo(std::string_view text) {
  const auto is = [&](std::string_view word) {
    if (text.size() != word.size()) return false;
    for (size_t i = 0; i < word.size(); ++i) {
      const char c = text[i];
      if ((c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c) != word[i]) return false;
    }
    return true;
  };
  if (is("1") || is("yes") || is("on") || is("true")) return true;
  if (is("0") || is("no") || is("off") || is("false")) return false;
  return std::nullopt;
}

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_BASE_YES_NO_H_
