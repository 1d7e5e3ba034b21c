// Numbers as the demo prints them.
#ifndef VRAMSPAN_TOOLS_VRAMSPAN_DEMO_TEXT_H_
#define VRAMSPAN_TOOLS_VRAMSPAN_DEMO_TEXT_H_

#include <absl/strings/str_format.h>

#include <cstdlib>
#include <string>

#include "runtime/base/units.h"

namespace vramspan::demo {

// "8.00 GiB", "256 MiB", "1.5 MiB".
inline std::string SizeText(Bytes bytes) {
  if (bytes >= GiB(1)) {
    return absl::StrFormat("%.2f GiB", static_cast<double>(bytes.value) / (uint64_t{1} << 30));
  }
  const double mib = static_cast<double>(bytes.value) / (1 << 20);
  const int places = bytes >= MiB(10) || bytes.value % (1 << 20) == 0 ? 0 : 1;
  return absl::StrFormat("%.*f MiB", places, mib);
}

// An option as it was given, else as the environment has it. An empty text is none.
inline std::string OrDefault(const std::string& text, const char* environment,
                             const char* fallback) {
  if (!text.empty()) return text;
  const char* value = std::getenv(environment);
  return value != nullptr && *value != '\0' ? value : fallback;
}

}  // namespace vramspan::demo

#endif  // VRAMSPAN_TOOLS_VRAMSPAN_DEMO_TEXT_H_
