// Code for tests as nvdisasm prints it.
#ifndef VRAMSPAN_TESTS_PROVE_SASS_ROWS_H_
#define VRAMSPAN_TESTS_PROVE_SASS_ROWS_H_

#include <absl/strings/match.h>
#include <absl/strings/str_cat.h>

#include <algorithm>
#include <string>
#include <string_view>

namespace vramspan::prove {

// Rows are instructions, apart by line breaks; a row that ends with a colon is a label.
inline void AppendRows(std::string_view rows, std::string* text) {
  while (!rows.empty()) {
    const size_t end = std::min(rows.find('\n'), rows.size());
    const std::string_view row = rows.substr(0, end);
    rows.remove_prefix(std::min(end + 1, rows.size()));
    const bool label = absl::EndsWith(row, ":");
    absl::StrAppend(text, label ? "" : " /*0000*/ ", row, label ? "\n" : " ;\n");
  }
}

}  // namespace vramspan::prove

#endif  // VRAMSPAN_TESTS_PROVE_SASS_ROWS_H_
