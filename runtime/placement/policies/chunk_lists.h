// Several lists of chunks that share one vector of links, as ChunkList has for one list: a chunk is
// in one of them at most, every operation is O(1), and none allocates once the largest chunk has
// been seen. Which list a chunk is in is the caller's to remember.
//
// Metadata: 8 bytes a chunk and 8 a list. Threads: not safe, like the policies it serves.
#ifndef VRAMSPAN_RUNTIME_PLACEMENT_POLICIES_CHUNK_LISTS_H_
#define VRAMSPAN_RUNTIME_PLACEMENT_POLICIES_CHUNK_LISTS_H_

#include <cstdint>
#include <vector>

#include "runtime/base/grow.h"
#include "runtime/base/log.h"
#include "runtime/base/units.h"

namespace vramspan {

class ChunkLists {
 public:
  // Lists are named 0 to `lists` - 1. REQUIRES: at least one.
  explicit ChunkLists(uint32_t lists) : lists_(lists), links_(lists) {
    for (uint32_t i = 0; i < lists; ++i) links_[i] = {.prev = i, .next = i};
  }

  bool Contains(ChunkIndex chunk) const {
    return chunk && Node(chunk) < links_.size() && links_[Node(chunk)].next != kAbsent;
  }
  bool Empty(uint32_t list) const { return links_[list].next == list; }
  // The null chunk where there is none.
  ChunkIndex Front(uint32_t list) const { return Chunk(links_[list].next); }
  ChunkIndex Back(uint32_t list) const { return Chunk(links_[list].prev); }
  ChunkIndex Next(ChunkIndex chunk) const { return Chunk(links_[Node(chunk)].next); }
  ChunkIndex Prev(ChunkIndex chunk) const { return Chunk(links_[Node(chunk)].prev); }

  // REQUIRES: a chunk, and in no list.
  void PushBack(uint32_t list, ChunkIndex chunk) {
    VS_DCHECK(chunk && !Contains(chunk));
    const uint32_t node = Node(chunk);
    if (node >= links_.size()) GrowTo(links_, size_t{node} + 1);
    const uint32_t last = links_[list].prev;
    links_[node] = {.prev = last, .next = list};
    links_[last].next = node;
    links_[list].prev = node;
  }
  // From whichever list it is in. REQUIRES: Contains(chunk).
  void Remove(ChunkIndex chunk) {
    VS_DCHECK(Contains(chunk));
    const Links links = links_[Node(chunk)];
    links_[links.prev].next = links.next;
    links_[links.next].prev = links.prev;
    links_[Node(chunk)] = {};
  }
  void MoveToBack(uint32_t list, ChunkIndex chunk) {
    Remove(chunk);
    PushBack(list, chunk);
  }
  // Puts all of `from`, in its order, behind what is in `to`. REQUIRES: two lists.
  void Append(uint32_t from, uint32_t to) {
    VS_DCHECK(from != to);
    if (Empty(from)) return;
    const Links moved = links_[from];
    const uint32_t last = links_[to].prev;
    links_[last].next = moved.next;
    links_[moved.next].prev = last;
    links_[moved.prev].next = to;
    links_[to].prev = moved.prev;
    links_[from] = {.prev = from, .next = from};
  }

 private:
  static constexpr uint32_t kAbsent = UINT32_MAX;
  struct Links {
    uint32_t prev = kAbsent;
    uint32_t next = kAbsent;
  };
  // The first entries are both ends of each list; chunk 0 is none, so chunk 1 follows them.
  uint32_t Node(ChunkIndex chunk) const { return chunk.value + lists_ - 1; }
  ChunkIndex Chunk(uint32_t node) const {
    return node < lists_ ? ChunkIndex() : ChunkIndex(node - lists_ + 1);
  }

  uint32_t lists_;
  std::vector<Links> links_;
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_PLACEMENT_POLICIES_CHUNK_LISTS_H_
