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

}  // namespace vramspan
