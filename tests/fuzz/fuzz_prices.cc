// A device's prices. What is read is what is written.
#include <string_view>

#include "runtime/api/price_file.h"
#include "runtime/base/log.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr int kDriver = 13000;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto prices = vramspan::ParsePrices(text, kDriver);
  if (!prices.ok()) return 0;
  const std::string written = vramspan::PricesText(*prices, kDriver);
  const auto again = vramspan::ParsePrices(written, kDriver);
  VS_CHECK(again.ok());
  VS_CHECK(vramspan::PricesText(*again, kDriver) == written);
  return 0;
}
