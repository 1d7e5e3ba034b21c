// Fields of what others wrote, wherever they lie.
#ifndef VRAMSPAN_TOOLS_PROVE_FIELD_H_
#define VRAMSPAN_TOOLS_PROVE_FIELD_H_

#include <cstdint>
#include <cstring>
#include <string_view>
#include <type_traits>

namespace vramspan::prove {

// False where there are fewer bytes from `offset` on.
template <typename T>
bool ReadField(std::string_view bytes, uint64_t offset, T* to) {
  static_assert(std::is_trivially_copyable_v<T>);
  if (offset > bytes.size() || bytes.size() - offset < sizeof(T)) return false;
  std::memcpy(to, bytes.data() + offset, sizeof(T));
  return true;
}

// `size` bytes from `offset` on, or none where there are fewer.
inline std::string_view Part(std::string_view bytes, uint64_t offset, uint64_t size) {
  if (offset > bytes.size() || bytes.size() - offset < size) return {};
  return bytes.substr(offset, size);
}

}  // namespace vramspan::prove

#endif  // VRAMSPAN_TOOLS_PROVE_FIELD_H_
