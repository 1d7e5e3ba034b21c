// Changing what lies behind an address: one unmap, one map, one set-access, and the way back when a
// step fails. Copies are somebody else's; here nothing is ever read or written.
#ifndef VRAMSPAN_RUNTIME_MEMORY_REMAP_H_
#define VRAMSPAN_RUNTIME_MEMORY_REMAP_H_

#include <absl/container/inlined_vector.h>
#include <absl/types/span.h>

#include <chrono>

#include "runtime/base/status.h"
#include "runtime/base/units.h"
#include "runtime/driver/driver.h"

namespace vramspan {

// A mapping that the driver refused is tried again for this long while somebody waits for it: what
// it needs may be there by then.
inline constexpr std::chrono::seconds kRemapPatience{1};

// The devices that may touch a mapping: the memory's own, its peers, and those that may touch what
// the driver lets them touch. That is host memory at least, where devices do not reach each other.
class Accessors {
 public:
  explicit Accessors(int own) { Add(own); }

  // Whether that changes anything.
  bool Add(int device);
  bool Remove(int device);
  // For good.
  bool AddWherePossible(int device);

  absl::Span<const CUmemAccessDesc> access() const { return access_; }
  absl::Span<const CUmemAccessDesc> where_possible() const { return where_possible_; }
  uint64_t changes() const { return changes_; }

 private:
  uint64_t changes_ = 0;
  absl::InlinedVector<CUmemAccessDesc, 1> access_;
  absl::InlinedVector<CUmemAccessDesc, 1> where_possible_;
};

struct RemapResult {
  Status status;         // The first failure, naming its call.
  bool mapped = true;    // False: `va` is left without any mapping; only MapAt can mend that.
  bool changed = false;  // True: `va` now shows the new handle. False with `mapped`: the old one.
};

// Replaces the mapping of [va, va + size), which shows `from`, by `to`, accessible to `to_whom`.
// A failure after the unmap puts `from` back. REQUIRES: nothing that runs or will run before this
// returns touches the range.
RemapResult Remap(const Driver& driver, const Accessors& to_whom, DevicePtr va, Bytes size,
                  CUmemGenericAllocationHandle from, CUmemGenericAllocationHandle to);

// Maps `handle` at an unmapped `va` with access for `to_whom`; on failure nothing stays mapped.
Status MapAt(const Driver& driver, const Accessors& to_whom, DevicePtr va, Bytes size,
             CUmemGenericAllocationHandle handle);

// Read and write access over mappings that exist.
Status GiveAccess(const Driver& driver, const Accessors& to_whom, DevicePtr va, Bytes size);

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_MEMORY_REMAP_H_
