// Ranges of freed memory that stay mapped as they are: an allocation of the same size takes one
// over without a driver call. Their slots are parked in the device pool, which has them taken apart
// when it needs the memory, so keeping a range costs nobody anything but its addresses.
//
// Pure bookkeeping. Threads: not safe; the caller holds the memory lock.
#ifndef VRAMSPAN_RUNTIME_MEMORY_FREE_RANGE_CACHE_H_
#define VRAMSPAN_RUNTIME_MEMORY_FREE_RANGE_CACHE_H_

#include <absl/container/flat_hash_map.h>

#include <cstdint>
#include <list>
#include <optional>
#include <utility>
#include <vector>

#include "runtime/base/units.h"

namespace vramspan {

struct FreeRange {
  DevicePtr base;
  Bytes size;
  // The chunks in address order: where the first is known, the size says what the others are
  // (ChunkSizesFor).
  std::vector<uint32_t> slots;
  std::vector<int> log2_sizes;
};

class FreeRangeCache {
 public:
  // REQUIRES: there is a chunk in it.
  void Add(FreeRange range);
  // The latest with these chunks, or nothing.
  std::optional<FreeRange> Take(Bytes size, int first_log2);
  // The oldest that has a chunk of 2^log2 bytes, any chunk where log2 is 0, or nothing.
  std::optional<FreeRange> TakeOldest(int log2);

  bool empty() const { return ranges_.empty(); }
  const std::list<FreeRange>& all() const { return ranges_; }

 private:
  using Ranges = std::list<FreeRange>;
  using Shape = std::pair<uint64_t, int>;  // Size and first chunk.

  static Shape ShapeOf(const FreeRange& range) {
    return {range.size.value, range.log2_sizes.front()};
  }
  FreeRange Remove(Ranges::iterator range);

  Ranges ranges_;  // The oldest first.
  // The places of the ranges of a shape, the oldest first.
  absl::flat_hash_map<Shape, std::list<Ranges::iterator>> by_shape_;
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_MEMORY_FREE_RANGE_CACHE_H_
