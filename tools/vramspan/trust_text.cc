#include "tools/vramspan/trust_text.h"

#include <absl/strings/str_cat.h>

#include <ctime>

#include "runtime/base/clean_text.h"
#include "runtime/observe/trust_list.h"

namespace vramspan {

std::string TrustHead(std::string_view columns) {
  return absl::StrCat("vramspan-trust 1\n# ", columns, " (docs/trust.md)\n");
}

std::string TrustOf(std::string_view of) {
  return absl::StrCat("of ", CleanText(of, TrustList::kMostName), "\n");
}

bool TrustCanName(std::string_view kernel) {
  return !kernel.empty() && kernel[0] != '(' && kernel.size() <= TrustList::kMostName &&
         CleanText(kernel) == kernel;
}

Status CheckTrust(std::string_view text) {
  TrustList list;
  const Status read = list.Add("the trust file", text);
  return read.ok() ? read : absl::FailedPreconditionError(read.message());
}

std::string Today() {
  const std::time_t now = std::time(nullptr);
  std::tm parts = {};
  char text[sizeof("2026-01-01")] = "";
  if (gmtime_r(&now, &parts) != nullptr) std::strftime(text, sizeof(text), "%Y-%m-%d", &parts);
  return text;
}

}  // namespace vramspan
