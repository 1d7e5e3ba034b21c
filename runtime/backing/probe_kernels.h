// The kernels that tell what no attribute and no copy does. The runtime carries none; a tool that
// has them loaded for its driver hands them in (tools/vramspan/kernels.cu is their source).
#ifndef VRAMSPAN_RUNTIME_BACKING_PROBE_KERNELS_H_
#define VRAMSPAN_RUNTIME_BACKING_PROBE_KERNELS_H_

#include <cuda.h>

namespace vramspan {

struct ProbeKernels {
  CUfunction sum;    // (const uint64_t* data, uint64_t words, uint64_t* total): *total += each.
  CUfunction fill;   // (uint64_t* data, uint64_t words, uint64_t value)
  CUfunction count;  // (uint32_t* counter): every thread adds 1 atomically.
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_BACKING_PROBE_KERNELS_H_
