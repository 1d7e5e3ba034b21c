// What tests share with tests/kernels/test_kernels.cu: parameter structs, and the functions that
// say what its kernels compute. Compiled by the C++ compiler and by nvcc.

#ifndef VRAMSPAN_TESTS_KERNELS_TEST_KERNELS_H_
#define VRAMSPAN_TESTS_KERNELS_TEST_KERNELS_H_

#include <cstddef>

#ifdef __CUDACC__
#define VRAMSPAN_TEST_HOST_DEVICE __host__ __device__
#else
#define VRAMSPAN_TEST_HOST_DEVICE
#endif

namespace vramspan_test {

// What the checksum kernel folds in for word `index` (splitmix64 of the two).
VRAMSPAN_TEST_HOST_DEVICE inline unsigned long long HashWord(size_t index,
                                                             unsigned long long value) {
  unsigned long long x = value + 0x9e3779b97f4a7c15ull * (index + 1);
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

// Parameter of add_arrays: pointers inside a struct that is passed by value.
struct Arrays {
  char tag;  // so that the pointers do not start the struct
  unsigned long long* out;
  const unsigned long long* left;
  const unsigned long long* right;
  size_t count;
};

// What the atomics kernel works on; every thread adds 1 to the sums and does the rest likewise.
struct AtomicCells {
  unsigned long long sum_u64;
  unsigned long long cas_u64;   // + 1 a thread by 64-bit compare and swap
  unsigned long long exchange;  // xor of it and every thread's token is kept in `tokens`
  unsigned long long tokens;
  unsigned long long system_u64;  // as sum_u64, system scope
  double sum_f64;
  float sum_f32;
  unsigned int sum_u32;
  unsigned int cas_u32;
  unsigned int max_u32;  // greatest thread number
  unsigned int lock;     // guards `locked`
  unsigned int locked;
  unsigned short cas_u16;
  unsigned short unused[3];
};

}  // namespace vramspan_test

#ifndef SIMCUDA_EXPORT  // not in the kernels themselves
#include "tools/simcuda/kernel_images.h"

SIMCUDA_DECLARE_KERNELS(test_kernels);
#endif

#endif  // VRAMSPAN_TESTS_KERNELS_TEST_KERNELS_H_
