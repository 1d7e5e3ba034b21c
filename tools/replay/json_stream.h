// Reads a JSON document that is too large to be held: an object, one of whose members is a long
// array. The elements of the array come one at a time, the members beside it that are plain values
// are kept, all else is passed over.
#ifndef VRAMSPAN_TOOLS_REPLAY_JSON_STREAM_H_
#define VRAMSPAN_TOOLS_REPLAY_JSON_STREAM_H_

#include <absl/functional/function_ref.h>

#include <cstddef>
#include <map>
#include <nlohmann/json.hpp>
#include <streambuf>
#include <string>
#include <string_view>

#include "runtime/base/status.h"

namespace vramspan::replay {

struct JsonStreamLimits {
  size_t depth = 64;               // Of arrays and objects in each other.
  size_t element_size = 64 << 20;  // Of what an element takes, in bytes, roughly.
  size_t elements = 20'000'000;
};

struct JsonStreamResult {
  bool found = false;  // The array was there.
  bool cut = false;    // The text ended within or behind it, and before the document did.
  size_t elements = 0;
  std::map<std::string, nlohmann::json> members;  // The plain values; 64 at most.
};

// FailedPrecondition with the place for what is no JSON (json_text.h says what else is taken), is
// no object, or is beyond the limits, and the errors of `element`, which end the reading. What came
// before was given to `element`. A text that just ends is an error only before the array begins.
StatusOr<JsonStreamResult> ReadJsonStream(
    std::streambuf* text, std::string_view array,
    absl::FunctionRef<Status(const nlohmann::json& element)> element,
    const JsonStreamLimits& limits = {});

}  // namespace vramspan::replay

#endif  // VRAMSPAN_TOOLS_REPLAY_JSON_STREAM_H_
