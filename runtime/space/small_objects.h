// Packing of small allocations (gShare's three levels: chunk, buddy block, slab), so that ten
// thousand 256-byte allocations take two chunks, not ten thousand. Objects are 256-byte aligned, as
// cudaMalloc promises. Pure bookkeeping over addresses: memory comes and goes through the two
// callbacks; sizes above kMaxSmall are not for here.
//
//   up to 32 KiB      a slot of a slab: 64 to 256 KiB of one size class (size_classes.h), a bitmap
//   up to kMaxSmall   blocks of its own: the next power of two of 64 KiB
//
// Metadata: some 220 bytes a chunk and 64 a slab, so at most 128 an object where chunks are full: 2
// bits for one of 256 bytes, 110 bytes for one of 1 MiB. Threads: not safe; the caller holds the
// space lock.
#ifndef VRAMSPAN_RUNTIME_SPACE_SMALL_OBJECTS_H_
#define VRAMSPAN_RUNTIME_SPACE_SMALL_OBJECTS_H_

#include <functional>
#include <memory>

#include "runtime/base/status.h"
#include "runtime/base/units.h"

namespace vramspan {

class SmallObjects {
 public:
  // Larger requests get chunks of their own.
  static constexpr Bytes kMaxSmall = MiB(1);
  static constexpr Bytes kAlignment{256};

  // Neither may call back into the SmallObjects that called it.
  struct Source {
    // A mapped 2 MiB chunk, aligned to its size.
    std::function<StatusOr<DevicePtr>()> take_chunk;
    // An empty chunk goes back. One empty chunk is kept for the next request.
    std::function<void(DevicePtr)> give_chunk;
  };
  explicit SmallObjects(Source source);
  // Gives back every chunk, whatever lives in it.
  ~SmallObjects();

  // REQUIRES: 0 < size <= kMaxSmall. Errors are those of take_chunk.
  StatusOr<DevicePtr> Allocate(Bytes size);

  // InvalidArgument, naming the address and why, for a pointer that is not the start of a live
  // object (interior, already freed, or never given out). REQUIRES: `p` lies in one of our chunks.
  Status Free(DevicePtr p);

  // Start and usable size of the live object that holds `p`, or NotFound.
  struct Object {
    DevicePtr base;
    Bytes size;
  };
  StatusOr<Object> Find(DevicePtr p) const;

  // Gives back the empty chunk that is kept, if there is one: for when memory is short.
  void Trim();

  size_t live_objects() const;
  size_t chunks() const;
  size_t metadata_bytes() const;

  // Dies where the bookkeeping contradicts itself. O(chunks); for tests.
  void CheckInvariants() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_SPACE_SMALL_OBJECTS_H_
