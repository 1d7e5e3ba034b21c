// The live allocations that have chunks of their own, by id and by address. What a program's
// pointer belongs to, and whether it is one at all.
//
// Metadata: at most 128 bytes an allocation. Threads: not safe; the caller holds the space lock.
#ifndef VRAMSPAN_RUNTIME_SPACE_ALLOCATIONS_H_
#define VRAMSPAN_RUNTIME_SPACE_ALLOCATIONS_H_

#include <absl/container/flat_hash_map.h>

#include <vector>

#include "runtime/base/status.h"
#include "runtime/base/units.h"
#include "runtime/space/recently_freed.h"

namespace vramspan {

struct Allocation {
  DevicePtr base;
  Bytes requested;                // What the program asked for.
  Bytes reserved;                 // Its address range: a whole number of chunks.
  uint32_t first_chunk_log2 = 0;  // Size of the first chunks; those of the tail are smaller.
  uint32_t id = 0;
};

// The chunk sizes (log2) that back an allocation of `size`, in address order: as many of one size
// as fit, then the remainder in smaller ones, largest first, so that less than one granule (2 MiB)
// is wasted. With `forced_log2` 0 that size is chosen by the request: below 32 MiB 16 MiB,
// from 128 MiB on 64 MiB, between them 32 MiB — a 2 MiB chunk spends more time in the driver than
// on the bus, large ones reach link speed (docs/findings/0003-what-a-remap-costs.md). REQUIRES:
// `forced_log2` is 0 or 21 to 26, and `size` is no more than an arena can have, for the result has
// an entry for each chunk.
std::vector<int> ChunkSizesFor(Bytes size, int forced_log2);

class Allocations {
 public:
  // Adds and returns its id (never 0; ids of freed allocations come again). REQUIRES: nothing live
  // has this base.
  uint32_t Add(const Allocation& allocation);
  // InvalidArgument naming `base` when it is not the start of a live allocation, saying whether it
  // is an interior pointer (`containing` is the allocation the page map found, 0 for none) or was
  // freed before.
  StatusOr<Allocation> Remove(DevicePtr base, uint32_t containing);
  // Null for none. Good until the next Add or Remove.
  const Allocation* Find(uint32_t id) const;
  const Allocation* FindBase(DevicePtr base) const;
  size_t size() const { return by_base_.size(); }
  size_t metadata_bytes() const;

 private:
  absl::flat_hash_map<uint64_t, uint32_t> by_base_;  // To id.
  std::vector<Allocation> slots_;                    // By id - 1; id 0 marks a free one.
  std::vector<uint32_t> free_;                       // Ids to give out again.
  RecentlyFreed recently_freed_;
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_SPACE_ALLOCATIONS_H_
