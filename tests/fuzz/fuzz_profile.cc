// A profile of `vramspan tune`. What is read is what is written.
#include <string_view>

#include "runtime/base/log.h"
#include "tools/replay/profile.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace vramspan::replay;  // NOLINT
  const auto profile = ParseProfile(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!profile.ok()) return 0;
  const auto again = ParseProfile(ProfileText(*profile));
  VS_CHECK(again.ok());
  VS_CHECK(ProfileText(*again) == ProfileText(*profile));
  return 0;
}
