// Addresses in the parameters of a kernel that no aligned slot of 8 bytes shows as they are:
//  - at any byte, as in packed structs; with tags in the upper 16 bits; shifted right by 4 to 12;
//  - in front of what they mean by up to 64 KiB: arrays that begin at 1, or at a negative index;
//  - in two halves, each in a word of 4 bytes;
//  - as a pointer and the distance from it to the start of another array, in elements of 1, 2, 4, 8
//    or 16 bytes. A number that leads to the end of the pointer's own array counts its elements.
//
// What is found is possible, and no more: numbers may look like any of these. Half an address
// without the other half beside it may mean any memory.
//
// Not looked for: what is computed in other ways, and addresses in host memory that is named.
//
// Pure. Threads: any.
#ifndef VRAMSPAN_RUNTIME_OBSERVE_ENCODED_ADDRESSES_H_
#define VRAMSPAN_RUNTIME_OBSERVE_ENCODED_ADDRESSES_H_

#include <absl/functional/function_ref.h>
#include <absl/types/span.h>

#include <vector>

#include "runtime/observe/arenas.h"
#include "runtime/observe/submission.h"
#include "runtime/observe/working_sets.h"

namespace vramspan {

// Where a kernel's parameters may lead beside what their slots show.
struct EncodedAddresses {
  static constexpr Bytes kInFront = KiB(64);
  // Allocations of one launch, and pairs of a pointer and a number that are tried.
  static constexpr size_t kMost = 64;
  static constexpr size_t kMostPairs = 1 << 16;

  // What lives in the arenas.
  struct World {
    const ArenaSet& arenas;
    Bytes never_moves;  // Allocations of up to this size.
    // The allocation at an address; of size 0: none.
    absl::FunctionRef<Extent(DevicePtr)> allocation;
    // Whether any allocation has a part of the range.
    absl::FunctionRef<bool(DevicePtr, Bytes)> any_in;
  };

  // An address in each allocation, in no order; of none that the slots name.
  std::vector<DevicePtr> possible;
  bool anywhere = false;  // Any memory may be meant.

  bool any() const { return anywhere || !possible.empty(); }

  // `block`: the parameters as they lie; `named`: what their slots show, or what a graph names.
  static EncodedAddresses Find(absl::Span<const char> block, absl::Span<const Touch> named,
                               const World& world);
  // Whether there may be some, whatever lives where and but for distances.
  static bool MayHold(absl::Span<const char> block, const ArenaSet& arenas);
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_OBSERVE_ENCODED_ADDRESSES_H_
