// Images as fat binaries begin, for tests that look at no more than that.
#ifndef VRAMSPAN_TESTS_OBSERVE_FAT_BINARY_H_
#define VRAMSPAN_TESTS_OBSERVE_FAT_BINARY_H_

#include <cstdint>
#include <cstring>
#include <string>

namespace vramspan {

// What a fat binary begins with, and code behind it. `claimed`: how much it says there is.
inline std::string FatOf(const std::string& code, uint64_t claimed) {
  const uint32_t magic = 0xba55ed50;
  const uint16_t version = 1, header = 16;
  std::string image(16, '\0');
  std::memcpy(image.data(), &magic, 4);
  std::memcpy(image.data() + 4, &version, 2);
  std::memcpy(image.data() + 6, &header, 2);
  std::memcpy(image.data() + 8, &claimed, 8);
  return image + code;
}
inline std::string FatOf(const std::string& code) { return FatOf(code, code.size()); }

}  // namespace vramspan

#endif  // VRAMSPAN_TESTS_OBSERVE_FAT_BINARY_H_
