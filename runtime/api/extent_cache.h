// Which allocation a pointer lies in, as a thread was told before: the memory's lock is one that
// the mover holds often while memory is short, and a launch over many tensors asks hundreds of
// times.
//
// Threads: one.
#ifndef VRAMSPAN_RUNTIME_API_EXTENT_CACHE_H_
#define VRAMSPAN_RUNTIME_API_EXTENT_CACHE_H_

#include <vector>

#include "runtime/memory/memory.h"
#include "runtime/observe/working_sets.h"

namespace vramspan {

class ExtentCache {
 public:
  // The live allocation of `memory` that holds `p`; of size 0 where none does.
  Extent Find(Memory& memory, DevicePtr p);

 private:
  struct Entry {
    uint64_t allocations = 0;  // Memory::allocations_state(), when it was looked up.
    Extent extent;
  };
  std::vector<Entry> entries_;  // By a hash of where the pointer lies; made when first asked.
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_API_EXTENT_CACHE_H_
