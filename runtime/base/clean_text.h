// Text that others wrote, as it may be shown: names of kernels, command lines, files.
#ifndef VRAMSPAN_RUNTIME_BASE_CLEAN_TEXT_H_
#define VRAMSPAN_RUNTIME_BASE_CLEAN_TEXT_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace vramspan {

// `text` on one line, as UTF-8, of which no terminal does anything but show it: control characters,
// what turns the direction of text, and bytes that are no UTF-8 are U+FFFD each. What is longer
// than `most` bytes is cut, and ends in three dots.
std::string CleanText(std::string_view text, size_t most = std::string_view::npos);

// What a message repeats of a value that it was given: clean, and no longer than a line has room
// for.
std::string Repeated(std::string_view text);

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_BASE_CLEAN_TEXT_H_
