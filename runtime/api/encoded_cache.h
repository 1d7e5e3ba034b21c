// What the launches of a thread may reach by addresses in other forms (encoded_addresses.h). It is
// looked for once for all launches that have every byte of their parameters in common; then it
// costs a hash of what the launch names. Of a graph it is looked for once, for all of its nodes. It
// is looked for again when memory that it depends on came or went.
//
// Threads: one.
#ifndef VRAMSPAN_RUNTIME_API_ENCODED_CACHE_H_
#define VRAMSPAN_RUNTIME_API_ENCODED_CACHE_H_

#include <vector>

#include "runtime/api/extent_cache.h"
#include "runtime/memory/memory.h"
#include "runtime/observe/encoded_addresses.h"
#include "runtime/observe/encoded_search.h"
#include "runtime/observe/graphs.h"

namespace vramspan {

class EncodedCache {
 public:
  // `launch` is a kernel's and has its parameters, or a graph's. Good until the next call.
  const EncodedAddresses& Find(const Submission& launch, const ArenaSet& arenas, Memory& memory,
                               ExtentCache* extents);

 private:
  struct Entry {
    uint64_t key = 0;
    uint64_t allocations = 0;  // Memory::allocations_state(), when it was looked for.
    EncodedAddresses found;
  };

  struct GraphEntry {
    uint64_t number = 0;  // NodeWork::number.
    uint64_t allocations = 0;
    EncodedAddresses found;
  };

  const EncodedAddresses& FindInGraph(const Submission& launch,
                                      const EncodedAddresses::World& world, uint64_t allocations);

  std::vector<Entry> entries_;  // By key; made when first asked.
  std::vector<GraphEntry> graphs_;
  EncodedSearch search_;
  std::vector<char> block_;  // Scratch.
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_API_ENCODED_CACHE_H_
