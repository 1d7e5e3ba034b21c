// Parameters of tests/mover/traced_test_kernels.cu. Compiled by the C++ compiler and by nvcc.
#ifndef VRAMSPAN_TESTS_MOVER_TRACED_TEST_KERNELS_H_
#define VRAMSPAN_TESTS_MOVER_TRACED_TEST_KERNELS_H_

#include <cstddef>

namespace vramspan_test {

// 4 KB, as much as every driver takes. Null pointers are passed over.
struct PointerBlock {
  static constexpr size_t kArrays = 510;

  unsigned long long* arrays[kArrays];
  size_t count;
  unsigned long long value;
};
static_assert(sizeof(PointerBlock) == 4096);

// Pointers at any byte.
#pragma pack(push, 1)
struct PackedPointers {
  unsigned long long* first;
  unsigned count;
  unsigned long long* second;
  unsigned char tag[3];
  unsigned long long* third;
};
#pragma pack(pop)

// Pointers at two depths of a struct.
struct PointerPair {
  short tag;
  struct {
    int small;
    unsigned long long* words;
  } inner;
  unsigned long long* words;
};

// A CUtensorMap, for those who do not include cuda.h.
struct alignas(64) TensorMap {
  unsigned long long opaque[16];
};

// What hides a pointer from everybody who looks for its value.
inline constexpr unsigned long long kPointerMask = 0x5a5a5a5a5a5a5a5aull;

}  // namespace vramspan_test

#ifndef SIMCUDA_EXPORT  // not in the kernels themselves
#include "tools/simcuda/kernel_images.h"

SIMCUDA_DECLARE_KERNELS(traced_test_kernels);
#endif

#endif  // VRAMSPAN_TESTS_MOVER_TRACED_TEST_KERNELS_H_
