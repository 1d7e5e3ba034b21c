// The shape of a launch, from any struct of the driver that has one. Inside this folder only.
#ifndef VRAMSPAN_RUNTIME_OBSERVE_LAUNCH_SHAPE_H_
#define VRAMSPAN_RUNTIME_OBSERVE_LAUNCH_SHAPE_H_

#include <cstdint>

#include "runtime/base/roughly.h"
#include "runtime/observe/submission.h"

namespace vramspan {

// Trust files hold the hash, so it is the same in every process.
template <typename Dims>
void TakeShape(const Dims& d, Submission* out) {
  uint64_t shape = 0, rough = 0;
  const auto add = [](uint64_t size, uint64_t* hash) {
    *hash = (*hash ^ size) * 0x9e3779b97f4a7c15ull;
  };
  for (const uint64_t size : {d.gridDimX, d.gridDimY, d.gridDimZ}) {
    add(size, &shape);
    add(Roughly(size), &rough);
  }
  for (const uint64_t size : {d.blockDimX, d.blockDimY, d.blockDimZ}) {
    add(size, &shape);
    add(size, &rough);
  }
  out->shape = shape;
  out->rough_shape = rough;
}

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_OBSERVE_LAUNCH_SHAPE_H_
