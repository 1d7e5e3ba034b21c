// Addresses in the parameters of a kernel that no aligned slot of 8 bytes shows as they are:
//  - at any byte, as in packed structs; with tags in the upper 16 bits; shifted right by 4 to 12;
//  - in front of what they mean by up to 64 KiB, and no multiple of 256: arrays that begin at 1;
//  - in two halves of 4 bytes, with at most three words between them;
//  - as a pointer and the negative distance from it to the start of another array, as 8 bytes that
//    count elements of 1, 2, 4, 8 or 16. Numbers that are not negative mostly count something.
//
// What is found is possible, and no more: numbers may look like any of these. Where that names too
// much, any memory may be meant.
//
// Not looked for: what is computed in other ways, and addresses in host memory that is named.
// docs/findings/0034-addresses-in-other-forms.md says why no more counts.
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
  // The farthest that a distance goes.
  static constexpr int64_t kFarthest = int64_t{1} << 47;

  // What lives in the arenas.
  struct World {
    const ArenaSet& arenas;
    Bytes never_moves;  // Allocations of up to this size.
    // The allocation at an address; of size 0: none.
    absl::FunctionRef<Extent(DevicePtr)> allocation;
  };

  // An address in each allocation, in no order; of none that the slots name.
  std::vector<DevicePtr> possible;
  bool anywhere = false;  // Any memory may be meant.

  bool any() const { return anywhere || !possible.empty(); }

  // `block`: the parameters as they lie; `named`: what their slots show, or what a graph names.
  // Whoever asks often has an EncodedSearch of its own.
  static EncodedAddresses Find(absl::Span<const char> block, absl::Span<const Touch> named,
                               const World& world);
  // Whether the number may be a distance: of those that are not negative most count something.
  static constexpr bool IsDistance(int64_t number) { return number < 0 && number > -kFarthest; }
  // Whether there may be some, whatever lives where.
  static bool MayHold(absl::Span<const char> block, const ArenaSet& arenas);
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_OBSERVE_ENCODED_ADDRESSES_H_
