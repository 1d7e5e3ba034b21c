// The free ranges of an address space. Lowest fit first, so that what is in use stays dense, in
// O(log n) of the number of holes: a treap by address whose nodes know the largest hole below them.
//
// Metadata: 40 bytes a hole. Threads: not safe.
#ifndef VRAMSPAN_RUNTIME_SPACE_HOLES_H_
#define VRAMSPAN_RUNTIME_SPACE_HOLES_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "runtime/base/units.h"

namespace vramspan {

class Holes {
 public:
  Holes();

  // Takes `size` bytes from the lowest place where they fit at a multiple of `alignment` (a power
  // of two), or nothing. With a large alignment and many holes that fit only unaligned, a higher
  // and roomier place may be preferred over looking at every hole.
  std::optional<DevicePtr> Take(Bytes size, Bytes alignment);

  // Adds [p, p + size); neighbours merge. REQUIRES: size > 0, and no byte of it is in a hole.
  void Give(DevicePtr p, Bytes size);

  Bytes largest() const { return nodes_[root_].largest; }
  Bytes total() const { return total_; }
  size_t count() const { return nodes_.size() - 1 - free_.size(); }

  // Dies where the structure contradicts itself. O(n); for tests.
  void CheckInvariants() const;

 private:
  using Index = uint32_t;  // Into nodes_; 0 is none.
  struct Node {
    DevicePtr start;
    Bytes size;
    Bytes largest;  // Of this node and all below it.
    uint32_t priority = 0;
    Index left = 0;
    Index right = 0;
  };

  DevicePtr EndOf(Index n) const { return nodes_[n].start + nodes_[n].size; }
  // The lowest hole at or after `from` of at least `size`.
  Index FirstFit(Index tree, DevicePtr from, Bytes size) const;
  Index LastBefore(DevicePtr p) const;
  void Carve(Index hole, DevicePtr p, Bytes size);

  void Insert(DevicePtr start, Bytes size);
  void Erase(DevicePtr start);
  // Moves the borders of the hole at `old_start` without passing a neighbour's.
  void Resize(Index tree, DevicePtr old_start, DevicePtr start, Bytes size);
  void Split(Index tree, DevicePtr at, Index* below, Index* rest);
  Index Merge(Index a, Index b);
  void Pull(Index n);
  size_t CheckTree(Index tree, DevicePtr* end, Bytes* total) const;

  std::vector<Node> nodes_;
  std::vector<Index> free_;
  Index root_ = 0;
  Bytes total_;
  uint32_t random_ = 0x9e3779b9;
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_SPACE_HOLES_H_
