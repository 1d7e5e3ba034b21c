// Curves as text: the elements of `curves` in what `vramspan replay --format json` prints, and
// lines of comma-separated values.
#ifndef VRAMSPAN_TOOLS_REPLAY_CURVES_JSON_H_
#define VRAMSPAN_TOOLS_REPLAY_CURVES_JSON_H_

#include <absl/types/span.h>

#include <nlohmann/json.hpp>
#include <string>

#include "tools/replay/curves.h"

namespace vramspan::replay {

// {"trace", "policy", "chunk_bytes" (0: by size), "accesses", "distinct_bytes", "sampled", "error",
//  "points": [{"device_memory_bytes", "misses", "miss_ratio"}]}
nlohmann::json CurveToJson(const Curve& curve);

// A point a line, after one line of names.
std::string CurvesToCsv(absl::Span<const Curve> curves);

}  // namespace vramspan::replay

#endif  // VRAMSPAN_TOOLS_REPLAY_CURVES_JSON_H_
