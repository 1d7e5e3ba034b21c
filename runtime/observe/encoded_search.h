// The search of encoded_addresses.h, by whoever searches often: what it needs is kept from one to
// the next, so that it allocates no more.
//
// A block is sifted first (address_sieve.h), since most places of most blocks are nothing at all.
//
// Threads: one.
#ifndef VRAMSPAN_RUNTIME_OBSERVE_ENCODED_SEARCH_H_
#define VRAMSPAN_RUNTIME_OBSERVE_ENCODED_SEARCH_H_

#include <vector>

#include "runtime/observe/encoded_addresses.h"

namespace vramspan {

class EncodedSearch {
 public:
  // As EncodedAddresses::Find. While it runs, each address lies in the same allocation.
  void Find(absl::Span<const char> block, absl::Span<const Touch> named,
            const EncodedAddresses::World& world, EncodedAddresses* found);

 private:
  // One Find.
  class Run;
  struct Pointer {
    DevicePtr ptr;
    Extent extent;
  };

  std::vector<Extent> known_;   // Allocations that are named, in order.
  std::vector<size_t> halves_;  // Where upper halves of addresses may be.
  std::vector<int64_t> numbers_;
  std::vector<Pointer> pointers_;
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_OBSERVE_ENCODED_SEARCH_H_
