#include "runtime/memory/free_range_cache.h"

#include <algorithm>

#include "runtime/base/log.h"

namespace vramspan {

void FreeRangeCache::Add(FreeRange range) {
  VS_CHECK(!range.slots.empty() && range.slots.size() == range.log2_sizes.size());
  const Shape shape = ShapeOf(range);
  ranges_.push_back(std::move(range));
  by_shape_[shape].push_back(std::prev(ranges_.end()));
}

std::optional<FreeRange> FreeRangeCache::Take(Bytes size, int first_log2) {
  const auto of_shape = by_shape_.find(Shape(size.value, first_log2));
  if (of_shape == by_shape_.end()) return std::nullopt;
  return Remove(of_shape->second.back());
}

std::optional<FreeRange> FreeRangeCache::TakeOldest(int log2) {
  const auto range = std::find_if(ranges_.begin(), ranges_.end(), [log2](const FreeRange& r) {
    return log2 == 0 ||
           std::find(r.log2_sizes.begin(), r.log2_sizes.end(), log2) != r.log2_sizes.end();
  });
  if (range == ranges_.end()) return std::nullopt;
  return Remove(range);
}

FreeRange FreeRangeCache::Remove(Ranges::iterator range) {
  const auto of_shape = by_shape_.find(ShapeOf(*range));
  std::list<Ranges::iterator>& places = of_shape->second;
  // Ranges of one shape have chunks of the same sizes: what is taken is the latest or the oldest.
  const auto place = places.back() == range ? std::prev(places.end()) : places.begin();
  VS_CHECK(*place == range);
  places.erase(place);
  if (places.empty()) by_shape_.erase(of_shape);
  FreeRange removed = std::move(*range);
  ranges_.erase(range);
  return removed;
}

}  // namespace vramspan
