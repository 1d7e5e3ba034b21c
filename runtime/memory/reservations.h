// Address ranges that the program reserved, and where memory is mapped in them. A range that was
// reserved is one allocation with holes: chunks are where detached memory was mapped.
//
// Pure bookkeeping. Threads: not safe; the caller holds the memory lock.
#ifndef VRAMSPAN_RUNTIME_MEMORY_RESERVATIONS_H_
#define VRAMSPAN_RUNTIME_MEMORY_RESERVATIONS_H_

#include <cstdint>
#include <map>
#include <optional>

#include "runtime/base/units.h"
#include "runtime/space/allocations.h"

namespace vramspan {

class Reservations {
 public:
  bool empty() const { return ranges_.empty(); }
  // `id`: of its allocation, never 0.
  void Add(DevicePtr base, Bytes size, uint32_t id);
  // REQUIRES: nothing is mapped in it.
  void Remove(DevicePtr base) { ranges_.erase(base.value); }
  bool Begins(DevicePtr base) const { return ranges_.contains(base.value); }
  // The allocation of the reservation that is just this range with nothing mapped in it, or 0.
  uint32_t EmptyAt(DevicePtr base, Bytes size) const;
  // The allocation of the one reservation that holds [p, p + size), or 0.
  uint32_t Holding(DevicePtr p, Bytes size) const;

  // REQUIRES: a reservation holds it, and nothing is mapped there.
  void Map(DevicePtr at, Bytes size);
  void Unmap(DevicePtr at);
  // The size of what was mapped at `at`; 0 for nothing.
  Bytes MappedAt(DevicePtr at) const;
  // The first mapping that begins at `p` or behind it, in the reservation that holds `p`.
  std::optional<DevicePtr> NextMapped(DevicePtr p) const;
  // The reservation that holds `p` up to its last mapping; none where `p` lies behind that.
  std::optional<Allocation> ExtentOf(DevicePtr p) const;

 private:
  struct Range {
    Bytes size;
    uint32_t id = 0;
    std::map<uint64_t, Bytes> mapped = {};  // Base and size of each mapping.
  };
  using Ranges = std::map<uint64_t, Range>;
  // The one that holds p, or the end.
  Ranges::const_iterator Find(DevicePtr p) const;

  Ranges ranges_;
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_MEMORY_RESERVATIONS_H_
