#include "tools/vramspan/damage.h"

#include <absl/strings/str_cat.h>

#include <iostream>

#include "runtime/base/clean_text.h"

namespace vramspan {

void SayProblems(const std::string& path, const std::vector<std::string>& problems) {
  for (const std::string& problem : problems) {
    std::cerr << CleanText(absl::StrCat(path, ": ", problem)) << "\n";
  }
}

Status CheckWhole(const std::string& path, const std::vector<std::string>& problems) {
  if (problems.empty()) return absl::OkStatus();
  return absl::DataLossError(
      absl::StrCat(path, " is damaged or incomplete: what could be read of it was used"));
}

}  // namespace vramspan
