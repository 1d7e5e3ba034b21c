// Files that `vramspan report` is given, read so that no file can cost more memory or time than its
// bounds allow.
#ifndef VRAMSPAN_TOOLS_REPLAY_REPORT_INPUT_H_
#define VRAMSPAN_TOOLS_REPLAY_REPORT_INPUT_H_

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "runtime/base/status.h"

namespace vramspan::replay {

inline constexpr size_t kMostReplayBytes = size_t{64} << 20;
inline constexpr size_t kMostReplayValues = size_t{8} << 20;
inline constexpr size_t kMostReplayDepth = 32;

// Whether a file is JSON rather than a trace, by its first character. What is no regular file (a
// pipe) can only be read once, and is taken for JSON.
bool LooksLikeJson(const std::string& path);

// A JSON file of at most the bytes, values and nesting above. Errors name the file.
StatusOr<nlohmann::json> ReadReplayFile(const std::string& path);

// The same of a text. Errors say where in it.
StatusOr<nlohmann::json> ParseReplay(std::string_view text);

}  // namespace vramspan::replay

#endif  // VRAMSPAN_TOOLS_REPLAY_REPORT_INPUT_H_
