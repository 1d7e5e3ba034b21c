// Text as JSON: what is JSON is read as such, and what is not is refused or taken for what ends
// early, whatever else is taken for JSON.
#include <string_view>

#include "runtime/base/log.h"
#include "tests/fuzz/bytes_buffer.h"
#include "tools/replay/json_stream.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using vramspan::replay::ReadJsonStream;
  size_t elements = 0;
  BytesBuffer bytes(data, size);
  const auto read = ReadJsonStream(
      &bytes, "nodes", [&](const nlohmann::json&) { return ++elements, vramspan::Status(); },
      {.depth = 64, .element_size = 1 << 20, .elements = 1 << 16});
  if (read.ok()) VS_CHECK(read->elements == elements);
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (nlohmann::json::accept(text) && read.ok()) VS_CHECK(!read->cut);
  return 0;
}
