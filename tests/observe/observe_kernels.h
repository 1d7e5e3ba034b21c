// Parameters of tests/observe/observe_kernels.cu. Compiled by the C++ compiler and by nvcc.
#ifndef VRAMSPAN_TESTS_OBSERVE_OBSERVE_KERNELS_H_
#define VRAMSPAN_TESTS_OBSERVE_OBSERVE_KERNELS_H_

namespace vramspan_test {

// A pointer that does not start at an eighth byte of its struct's tail.
struct Nested {
  int tag;
  struct {
    short small;
    void* pointer;
  } inner;
};

// Starts in the middle of eight bytes where an int comes before it.
struct Ints {
  int values[6];
};

// As much as the driver has always taken, and (minus what surrounds it) takes since CUDA 12.1.
struct Block4K {
  void* pointers[511];
};
struct Block32K {
  void* pointers[4094];
};

// As a CUtensorMap lies in a kernel's parameters.
struct alignas(64) Map {
  unsigned long long words[16];
};

}  // namespace vramspan_test

#ifndef SIMCUDA_EXPORT  // not in the kernels themselves
#include "tools/simcuda/kernel_images.h"

SIMCUDA_DECLARE_KERNELS(observe_kernels);
#endif

#endif  // VRAMSPAN_TESTS_OBSERVE_OBSERVE_KERNELS_H_
