// Which slots back memory, where no chunk says it: of memory that is about to be mapped, and of the
// program's own memory that is mapped nowhere. The latter keeps its contents and its place, device
// or host.
//
// Threads: plain values. They own nothing: who has the last copy gives the slots back.
#ifndef VRAMSPAN_RUNTIME_MEMORY_DETACHED_MEMORY_H_
#define VRAMSPAN_RUNTIME_MEMORY_DETACHED_MEMORY_H_

#include <cstdint>
#include <vector>

#include "runtime/base/units.h"
#include "runtime/space/chunk.h"

namespace vramspan {

// A slot with the size of the chunk that it backs.
struct Backing {
  uint32_t slot = kNoSlot;
  bool on_device = false;
  int log2_size = 0;
};

inline Backing BackingOf(const Chunk& c) {
  return {c.on_device ? c.device_slot : c.host_slot, c.on_device, c.log2_size};
}

class DetachedMemory {
 public:
  void Add(const Backing& backing) {
    size_ += ChunkBytes(backing.log2_size);
    backing_.push_back(backing);
  }
  Bytes size() const { return size_; }
  // In the order of its addresses, once it has some.
  const std::vector<Backing>& backing() const { return backing_; }

 private:
  Bytes size_;
  std::vector<Backing> backing_;
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_MEMORY_DETACHED_MEMORY_H_
