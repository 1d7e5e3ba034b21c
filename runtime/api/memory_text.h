// Amounts of memory in what a runtime tells a person: statistics, and the line at the end.
#ifndef VRAMSPAN_RUNTIME_API_MEMORY_TEXT_H_
#define VRAMSPAN_RUNTIME_API_MEMORY_TEXT_H_

#include <absl/strings/str_format.h>

#include <cstdint>
#include <string>

namespace vramspan {

inline std::string MemoryText(uint64_t bytes) {
  if (bytes >= uint64_t{10} << 30) return absl::StrFormat("%.1f GiB", bytes / 1073741824.0);
  return absl::StrFormat("%.1f MiB", bytes / 1048576.0);
}

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_API_MEMORY_TEXT_H_
