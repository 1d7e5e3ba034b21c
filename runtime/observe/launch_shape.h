// The shape of a launch, from any struct of the driver that has one. Inside this folder only.
#ifndef VRAMSPAN_RUNTIME_OBSERVE_LAUNCH_SHAPE_H_
#define VRAMSPAN_RUNTIME_OBSERVE_LAUNCH_SHAPE_H_

#include <cstdint>

namespace vramspan {

// A hash of its grid and blocks. Trust files hold it, so it is the same in every process.
template <typename Dims>
uint64_t LaunchShape(const Dims& d) {
  uint64_t shape = 0;
  for (const uint64_t size :
       {d.gridDimX, d.gridDimY, d.gridDimZ, d.blockDimX, d.blockDimY, d.blockDimZ}) {
    shape = (shape ^ size) * 0x9e3779b97f4a7c15ull;
  }
  return shape;
}

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_OBSERVE_LAUNCH_SHAPE_H_
