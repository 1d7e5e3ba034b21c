// Kernels whose parameters are hard to find; what they do matters to nobody.

#include "tests/observe/observe_kernels.h"

using vramspan_test::Block32K;
using vramspan_test::Block4K;
using vramspan_test::Ints;
using vramspan_test::Map;
using vramspan_test::Nested;

extern "C" __global__ void nested(int first, Nested nested, void* last) {
  if (last != nullptr) *static_cast<int*>(last) = first + nested.tag;
}
SIMCUDA_EXPORT(nested);

extern "C" __global__ void small_ones(int a, int b, short c, char d) {
  if (a + b + c + d == 1 << 30) __nanosleep(1);
}
SIMCUDA_EXPORT(small_ones);

extern "C" __global__ void ints(int first, Ints ints) {
  if (first + ints.values[5] == 1 << 30) __nanosleep(1);
}
SIMCUDA_EXPORT(ints);

extern "C" __global__ void block_4k(long long first, Block4K block) {
  if (block.pointers[first] != nullptr) *static_cast<int*>(block.pointers[first]) = 1;
}
SIMCUDA_EXPORT(block_4k);

extern "C" __global__ void block_32k(Block32K block) {
  if (block.pointers[0] != nullptr) *static_cast<int*>(block.pointers[0]) = 1;
}
SIMCUDA_EXPORT(block_32k);

extern "C" __global__ void with_map(int first, Map map, unsigned long long texture) {
  if (first == 1) __nanosleep(map.words[0] + texture);
}
SIMCUDA_EXPORT(with_map);

extern "C" __global__ void eight(void* a, void* b, void* c, void* d, void* e, void* f, void* g,
                                 void* h) {
  void* all[] = {a, b, c, d, e, f, g, h};
  for (void* one : all) {
    if (one != nullptr) *static_cast<int*>(one) = 1;
  }
}
SIMCUDA_EXPORT(eight);
