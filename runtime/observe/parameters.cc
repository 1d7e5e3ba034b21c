#include "runtime/observe/parameters.h"

#include <algorithm>
#include <cstring>

namespace vramspan {

absl::Span<const char> Parameters::Block(std::vector<char>* block) const {
  block->clear();
  if (layout == nullptr) return buffer;
  for (size_t i = 0; i < layout->places.size(); ++i) {
    const auto [offset, size] = layout->places[i];
    const auto* const value = static_cast<const char*>(values[i]);
    if (value == nullptr || offset > kMostParameterBytes) continue;
    const size_t taken = std::min(size, kMostParameterBytes - offset);
    block->resize(std::max(block->size(), offset + taken));
    std::memcpy(block->data() + offset, value, taken);
  }
  return *block;
}

bool Parameters::Equal(absl::Span<const char> block) const {
  if (layout == nullptr) {
    return buffer.size() == block.size() &&
           (buffer.empty() || std::memcmp(buffer.data(), block.data(), buffer.size()) == 0);
  }
  for (size_t i = 0; i < layout->places.size(); ++i) {
    const auto [offset, size] = layout->places[i];
    const auto* const value = static_cast<const char*>(values[i]);
    if (value == nullptr) return false;
    if (offset > kMostParameterBytes) continue;
    const size_t taken = std::min(size, kMostParameterBytes - offset);
    if (offset + taken > block.size()) return false;
    const char* const known = block.data() + offset;
    // Most are of this size, and a call takes longer.
    if (taken == sizeof(uint64_t)) {
      uint64_t a, b;
      std::memcpy(&a, value, sizeof(a));
      std::memcpy(&b, known, sizeof(b));
      if (a != b) return false;
    } else if (std::memcmp(value, known, taken) != 0) {
      return false;
    }
  }
  return true;
}

}  // namespace vramspan
