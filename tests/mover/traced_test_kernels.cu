// Kernels that come by their memory in ways that are hard to see. All of them add a value to the
// words of some arrays, and stride over the grid.

#include "tests/mover/traced_test_kernels.h"

using vramspan_test::PointerBlock;
using vramspan_test::PointerPair;
using Word = unsigned long long;

namespace {

__device__ void Add(Word* words, size_t count, Word value) {
  const size_t threads = size_t{gridDim.x} * blockDim.x;
  for (size_t i = size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += threads) {
    words[i] += value;
  }
}

}  // namespace

extern "C" __global__ void add_to_block(PointerBlock block) {
  for (Word* words : block.arrays) {
    if (words != nullptr) Add(words, block.count, block.value);
  }
}
SIMCUDA_EXPORT(add_to_block);

extern "C" __global__ void add_to_pair(char tag, PointerPair pair, size_t count, Word value) {
  if (tag != pair.tag) return;
  Add(pair.inner.words, count, value);
  Add(pair.words, count, value);
}
SIMCUDA_EXPORT(add_to_pair);

__device__ Word* hidden_words[4];
SIMCUDA_EXPORT_GLOBAL(hidden_words);

extern "C" __global__ void add_to_hidden(size_t arrays, size_t count, Word value) {
  for (size_t a = 0; a < arrays; ++a) Add(hidden_words[a], count, value);
}
SIMCUDA_EXPORT(add_to_hidden);

// Writes a pointer that the launch does not show: `masked` is its value under kPointerMask.
extern "C" __global__ void store_pointer(Word* table, size_t at, Word masked) {
  if (blockIdx.x == 0 && threadIdx.x == 0) table[at] = masked ^ vramspan_test::kPointerMask;
}
SIMCUDA_EXPORT(store_pointer);
