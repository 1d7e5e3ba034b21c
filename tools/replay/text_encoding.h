// Text that is not in UTF-8, told by the mark that it begins with.
#ifndef VRAMSPAN_TOOLS_REPLAY_TEXT_ENCODING_H_
#define VRAMSPAN_TOOLS_REPLAY_TEXT_ENCODING_H_

#include <absl/strings/str_cat.h>

#include <string>
#include <string_view>

namespace vramspan::replay {

// The mark that some editors put before text in UTF-8.
inline constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

// "UTF-16" or "UTF-32" where `begin` is such a mark and an ASCII character in it; else empty. What
// is no text may begin with the same bytes.
inline std::string_view OtherEncoding(std::string_view begin) {
  using std::string_view_literals::operator""sv;
  const struct {
    std::string_view name, mark;
    size_t lowest;  // Of a character's bytes, the one that is not 0.
  } known[] = {{"UTF-32", "\xff\xfe\0\0"sv, 0},
               {"UTF-32", "\0\0\xfe\xff"sv, 3},
               {"UTF-16", "\xff\xfe"sv, 0},
               {"UTF-16", "\xfe\xff"sv, 1}};
  for (const auto& k : known) {
    const size_t unit = k.mark.size();
    if (!begin.starts_with(k.mark) || begin.size() < 2 * unit) continue;
    bool ascii = true;
    for (size_t i = 0; i < unit; ++i) {
      const char c = begin[unit + i];
      ascii = ascii && (i == k.lowest ? c > 0 : c == 0);
    }
    if (ascii) return k.name;
  }
  return {};
}

inline std::string NotInUtf8(std::string_view encoding) {
  return absl::StrCat("it is text in ", encoding,
                      ", and JSON is read in UTF-8; convert it (iconv -f ", encoding, " -t UTF-8)");
}

}  // namespace vramspan::replay

#endif  // VRAMSPAN_TOOLS_REPLAY_TEXT_ENCODING_H_
