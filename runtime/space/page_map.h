// From a device address to its chunk in O(1): one range compare, a shift and a load, whatever the
// number of allocations. One 32-bit entry for each 2 MiB of the arena, in lazily touched memory.
//
// Threads: Find is wait-free and may run beside writers; writers are serialised by the caller (the
// space lock). A lookup of an address that is being allocated or freed at the same time answers
// either way, as the program's own race deserves.
#ifndef VRAMSPAN_RUNTIME_SPACE_PAGE_MAP_H_
#define VRAMSPAN_RUNTIME_SPACE_PAGE_MAP_H_

#include <atomic>
#include <memory>

#include "runtime/base/status.h"
#include "runtime/base/units.h"

namespace vramspan {

class PageMap {
 public:
  // Covers [base, base + size). InvalidArgument unless both are multiples of 2 MiB.
  static StatusOr<std::unique_ptr<PageMap>> Create(DevicePtr base, Bytes size);
  ~PageMap();

  bool Contains(DevicePtr p) const { return p.value - base_.value < size_.value; }

  // The chunk at `p`, or none. Any address may be asked for.
  ChunkIndex Find(DevicePtr p) const {
    const uint64_t offset = p.value - base_.value;
    if (offset >= size_.value) return ChunkIndex();
    return ChunkIndex(entries_[offset >> kMinChunkLog2].load(std::memory_order_acquire));
  }

  // Names `chunk` (or none) at every 2 MiB of [p, p + size). REQUIRES: inside the arena, aligned.
  void Set(DevicePtr p, Bytes size, ChunkIndex chunk);

  DevicePtr base() const { return base_; }
  Bytes size() const { return size_; }

 private:
  PageMap(DevicePtr base, Bytes size, std::atomic<uint32_t>* entries)
      : base_(base), size_(size), entries_(entries) {}

  const DevicePtr base_;
  const Bytes size_;
  std::atomic<uint32_t>* const entries_;
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_SPACE_PAGE_MAP_H_
