// What the program has mapped in one place, unmapped.
#ifndef VRAMSPAN_TESTS_MOVER_UNMAP_ONE_H_
#define VRAMSPAN_TESTS_MOVER_UNMAP_ONE_H_

#include <utility>
#include <vector>

#include "runtime/api/runtime.h"

namespace vramspan_test {

inline vramspan::StatusOr<vramspan::DetachedMemory> UnmapOne(vramspan::Runtime& runtime,
                                                             vramspan::DevicePtr at,
                                                             vramspan::Bytes size) {
  const vramspan::DevicePtr mappings[] = {at};
  auto detached = runtime.UnmapLoose(mappings, at, size);
  if (!detached.ok()) return detached.status();
  return std::move(detached->front());
}

}  // namespace vramspan_test

#endif  // VRAMSPAN_TESTS_MOVER_UNMAP_ONE_H_
