#include "runtime/observe/uploads.h"

#include <algorithm>
#include <iterator>

namespace vramspan {

bool Uploads::Add(uint64_t offset, Bytes size) {
  if (size < kLeast) return false;
  Piece added{offset, offset + size.value, true};
  const auto first = std::partition_point(pieces_.begin(), pieces_.end(),
                                          [&](const Piece& p) { return p.end <= added.begin; });
  const auto last = std::partition_point(first, pieces_.end(),
                                         [&](const Piece& p) { return p.begin < added.end; });
  if (first == last) {
    if (pieces_.size() == kMost) return false;
    arrays_bytes_ += BytesOf(added);
    pieces_.insert(first, added);
    return true;
  }
  // One that takes in all that it overlaps.
  added = {std::min(added.begin, first->begin), std::max(added.end, std::prev(last)->end), false};
  const bool changed = std::next(first) != last || first->array || first->begin != added.begin ||
                       first->end != added.end;
  std::for_each(first, last, [&](const Piece& p) { arrays_bytes_ -= BytesOf(p); });
  *first = added;
  pieces_.erase(std::next(first), last);
  return changed;
}

Bytes Uploads::SizeAt(uint64_t offset) const {
  const auto at = std::partition_point(pieces_.begin(), pieces_.end(),
                                       [&](const Piece& p) { return p.begin < offset; });
  const bool begins = at != pieces_.end() && at->begin == offset;
  return Bytes(begins ? BytesOf(*at) : 0);
}

}  // namespace vramspan
