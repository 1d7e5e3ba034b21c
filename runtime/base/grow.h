// Vectors with an entry for each chunk: they grow by an eighth, so that what they take stays within
// an eighth of what they hold. Doubling would make metadata that is to be small twice as large.
#ifndef VRAMSPAN_RUNTIME_BASE_GROW_H_
#define VRAMSPAN_RUNTIME_BASE_GROW_H_

#include <algorithm>
#include <cstddef>
#include <vector>

namespace vramspan {

// As resize, for a size that is not less than it was.
template <typename T>
void GrowTo(std::vector<T>& entries, size_t size, const T& value = T()) {
  const size_t capacity = entries.capacity();
  if (size > capacity) entries.reserve(std::max(size, capacity + capacity / 8 + 16));
  entries.resize(size, value);
}

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_BASE_GROW_H_
