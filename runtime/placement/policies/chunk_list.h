// A list of chunks whose links lie in one vector indexed by chunk, so every operation is O(1) and
// none allocates once the largest chunk has been seen. A chunk is in one such list at most once.
//
// Metadata: 8 bytes a chunk. Threads: not safe, like the policies it serves.
#ifndef VRAMSPAN_RUNTIME_PLACEMENT_POLICIES_CHUNK_LIST_H_
#define VRAMSPAN_RUNTIME_PLACEMENT_POLICIES_CHUNK_LIST_H_

#include <cstdint>
#include <vector>

#include "runtime/base/grow.h"
#include "runtime/base/log.h"
#include "runtime/base/units.h"

namespace vramspan {

class ChunkList {
 public:
  bool Contains(ChunkIndex chunk) const {
    return chunk.value < links_.size() && links_[chunk.value].next != kAbsent;
  }
  // The null chunk where there is none.
  ChunkIndex Front() const { return ChunkIndex(links_[0].next); }
  ChunkIndex Next(ChunkIndex chunk) const { return ChunkIndex(links_[chunk.value].next); }

  // REQUIRES: a chunk, and not in the list.
  void PushBack(ChunkIndex chunk) {
    VS_DCHECK(chunk && !Contains(chunk));
    if (chunk.value >= links_.size()) GrowTo(links_, size_t{chunk.value} + 1);
    const uint32_t last = links_[0].prev;
    links_[chunk.value] = {.prev = last, .next = 0};
    links_[last].next = chunk.value;
    links_[0].prev = chunk.value;
  }
  // REQUIRES: Contains(chunk).
  void Remove(ChunkIndex chunk) {
    VS_DCHECK(Contains(chunk));
    const Links links = links_[chunk.value];
    links_[links.prev].next = links.next;
    links_[links.next].prev = links.prev;
    links_[chunk.value] = {};
  }
  void MoveToBack(ChunkIndex chunk) {
    Remove(chunk);
    PushBack(chunk);
  }

 private:
  static constexpr uint32_t kAbsent = UINT32_MAX;
  struct Links {
    uint32_t prev = kAbsent;
    uint32_t next = kAbsent;
  };
  // Entry 0, which is no chunk, is both ends of the list.
  std::vector<Links> links_{Links{.prev = 0, .next = 0}};
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_PLACEMENT_POLICIES_CHUNK_LIST_H_
