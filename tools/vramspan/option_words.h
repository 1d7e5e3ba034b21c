// Words that an option of several commands takes: completion offers them.
#ifndef VRAMSPAN_TOOLS_VRAMSPAN_OPTION_WORDS_H_
#define VRAMSPAN_TOOLS_VRAMSPAN_OPTION_WORDS_H_

#include <string>
#include <string_view>
#include <vector>

#include "runtime/placement/policy.h"

namespace vramspan {

// The policies' names behind `more`.
inline std::vector<std::string> PolicyWords(std::vector<std::string> more = {}) {
  for (const std::string_view name : PolicyNames()) more.emplace_back(name);
  return more;
}

inline std::vector<std::string> OverlapWords(std::vector<std::string> more = {}) {
  for (const char* name : {"auto", "off", "proven", "safe", "all"}) more.emplace_back(name);
  return more;
}

inline std::vector<std::string> ChunkWords() {
  return {"auto", "2MiB", "4MiB", "8MiB", "16MiB", "32MiB", "64MiB"};
}

}  // namespace vramspan

#endif  // VRAMSPAN_TOOLS_VRAMSPAN_OPTION_WORDS_H_
