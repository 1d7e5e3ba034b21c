// A physical handle that backs a chunk, and the address at which the mover reaches it: the staging
// alias stays mapped for the handle's whole life, so a copy needs no mapping of its own and a remap
// is exactly one unmap, one map and one set-access (a handle may be mapped at several addresses).
#ifndef VRAMSPAN_RUNTIME_BACKING_SLOT_H_
#define VRAMSPAN_RUNTIME_BACKING_SLOT_H_

#include <cuda.h>

#include "runtime/base/units.h"

namespace vramspan {

struct Slot {
  CUmemGenericAllocationHandle handle = 0;
  DevicePtr alias;  // 0: not made yet (device slots get theirs when first needed).
};
static_assert(sizeof(Slot) == 16);

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_BACKING_SLOT_H_
