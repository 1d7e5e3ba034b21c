#include "tools/vramspan/damage.h"

#include <absl/strings/str_cat.h>

#include "tools/vramspan/command.h"

namespace vramspan {

void SayProblems(const std::string& path, const std::vector<std::string>& problems) {
  for (const std::string& problem : problems) {
    SayError("vramspan", absl::StrCat(path, ": ", problem));
  }
}

Status CheckWhole(const std::string& path, const std::vector<std::string>& problems) {
  if (problems.empty()) return absl::OkStatus();
  return absl::DataLossError(
      absl::StrCat(path, " is damaged or incomplete; what could be read was used"));
}

}  // namespace vramspan
