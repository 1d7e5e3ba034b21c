// Kernels that come by their memory in ways that are hard to see. They add a value to the words of
// some arrays, or copy words; any grid is right.

#include "tests/mover/traced_test_kernels.h"
#include "tools/simcuda/grid_range.h"

using vramspan_test::PackedPointers;
using vramspan_test::PointerBlock;
using vramspan_test::PointerPair;
using vramspan_test::TensorMap;
using Word = unsigned long long;

namespace {

__device__ void Add(Word* words, size_t count, Word value) {
  for (const size_t i : GridRange(count)) words[i] += value;
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

// Addresses that no slot of 8 bytes shows as they are. `first` is an ordinary pointer.

extern "C" __global__ void add_to_packed(PackedPointers arrays, Word value) {
  for (Word* words : {arrays.first, arrays.second, arrays.third}) Add(words, arrays.count, value);
}
SIMCUDA_EXPORT(add_to_packed);

// Arrays that begin at 1.
extern "C" __global__ void add_from_one(Word* first, Word* second, size_t count, Word value) {
  Add(first + 1, count, value);
  Add(second + 1, count, value);
}
SIMCUDA_EXPORT(add_from_one);

// The second by its distance in words.
extern "C" __global__ void add_at_distance(Word* first, long long apart, size_t count, Word value) {
  Add(first, count, value);
  Add(first + apart, count, value);
}
SIMCUDA_EXPORT(add_at_distance);

// The second in two halves with a number between them.
extern "C" __global__ void add_to_halves(Word* first, unsigned low, unsigned count, unsigned high,
                                         Word value) {
  Add(first, count, value);
  Add(reinterpret_cast<Word*>(size_t{high} << 32 | low), count, value);
}
SIMCUDA_EXPORT(add_to_halves);

// With a tag of 16 bits on top.
extern "C" __global__ void add_to_tagged(Word* first, size_t tagged, size_t count, Word value) {
  Add(first, count, value);
  Add(reinterpret_cast<Word*>(tagged << 16 >> 16), count, value);
}
SIMCUDA_EXPORT(add_to_tagged);

// As the number of a page of 4 KiB.
extern "C" __global__ void add_to_page(Word* first, size_t page, size_t count, Word value) {
  Add(first, count, value);
  Add(reinterpret_cast<Word*>(page << 12), count, value);
}
SIMCUDA_EXPORT(add_to_page);

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

namespace {

__device__ Word WordOf(uint2 halves) { return halves.x | static_cast<Word>(halves.y) << 32; }

}  // namespace

// Texels are words, as two halves.
extern "C" __global__ void copy_texture(cudaTextureObject_t texture, size_t count, Word* to) {
  for (const size_t i : GridRange(count)) {
    to[i] = WordOf(tex1Dfetch<uint2>(texture, static_cast<int>(i)));
  }
}
SIMCUDA_EXPORT(copy_texture);

// Rows of `width` words, and as many of them as there are threads for.
extern "C" __global__ void copy_texture_rows(cudaTextureObject_t texture, size_t width,
                                             size_t height, Word* to) {
  const size_t threads = size_t{gridDim.x} * blockDim.x;
  for (size_t y = size_t{blockIdx.x} * blockDim.x + threadIdx.x; y < height; y += threads) {
    for (size_t x = 0; x < width; ++x) {
      to[y * width + x] =
          WordOf(tex2D<uint2>(texture, static_cast<float>(x) + 0.5f, static_cast<float>(y) + 0.5f));
    }
  }
}
SIMCUDA_EXPORT(copy_texture_rows);

// Between tensors of words. On a GPU this would take bulk copies by way of shared memory, and the
// test runs on the simulated driver only.
extern "C" __global__ void copy_tensor(const __grid_constant__ TensorMap from,
                                       const __grid_constant__ TensorMap to, size_t width,
                                       size_t height) {
#ifdef __CUDACC__
  if (width * height != 0) __trap();
#else
  const size_t threads = size_t{gridDim.x} * blockDim.x;
  for (size_t y = size_t{blockIdx.x} * blockDim.x + threadIdx.x; y < height; y += threads) {
    for (size_t x = 0; x < width; ++x) {
      *simcuda::device::TensorElement<Word>(to, x, y) =
          *simcuda::device::TensorElement<Word>(from, x, y);
    }
  }
#endif
}
SIMCUDA_EXPORT(copy_tensor);
