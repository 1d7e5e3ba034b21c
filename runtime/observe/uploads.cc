#include "runtime/observe/uploads.h"

#include <algorithm>
#include <iterator>

namespace vramspan {

bool Uploads::Add(uint64_t offset, Bytes size) {
  if (size < kLeast) return false;
  const Array added{offset, offset + size.value};
  const auto first = std::partition_point(
      arrays_.begin(), arrays_.end(), [&](const Array& array) { return array.end <= added.begin; });
  if (first != arrays_.end() && first->begin <= added.begin && added.end <= first->end) {
    return false;
  }
  const auto last = std::partition_point(
      first, arrays_.end(), [&](const Array& array) { return array.begin < added.end; });
  if (first != last) {
    *first = added;
    arrays_.erase(std::next(first), last);
    return true;
  }
  if (arrays_.size() == kMost) return false;
  arrays_.insert(first, added);
  return true;
}

Uploads::Array Uploads::At(uint64_t offset) const {
  const auto at = std::partition_point(arrays_.begin(), arrays_.end(),
                                       [&](const Array& array) { return array.end <= offset; });
  if (at == arrays_.end() || offset < at->begin) return {};
  Array array = *at;
  const auto next = std::next(at);
  if (next != arrays_.end() && next->begin - array.end <= kPadding.value) array.end = next->begin;
  return array;
}

}  // namespace vramspan
