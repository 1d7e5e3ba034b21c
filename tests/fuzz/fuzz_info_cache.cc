// What `vramspan info` keeps of a device. What is read is what is written.
#include <string_view>

#include "runtime/base/log.h"
#include "tools/vramspan/info_cache.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace vramspan::info;  // NOLINT
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto json = nlohmann::json::parse(text, nullptr, false);
  if (json.is_discarded()) return 0;
  const auto costs = CostsFromJson(json);
  if (!costs.ok()) return 0;
  const auto again = CostsFromJson(nlohmann::json::parse(CostsToJson(*costs).dump()));
  VS_CHECK(again.ok());
  VS_CHECK(CostsToJson(*again) == CostsToJson(*costs));
  return 0;
}
