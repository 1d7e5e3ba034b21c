// The kernel behind fingerprint.h, for the GPU and for the simulated driver.
#include <cstddef>
#include <cstdint>

namespace {

using Word = unsigned long long;

// The finisher of SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number generators",
// OOPSLA 2014): every bit of the input moves every bit of the output.
__device__ inline Word Mix(Word x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

// Two independent hashes of every word of this thread's part and its place. `words` is a multiple
// of 8.
__device__ inline void HashPart(const Word* data, size_t words, Word* sum_a, Word* sum_b) {
  const size_t step = size_t{gridDim.x} * blockDim.x;
  const size_t first = size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  Word a = 0;
  Word b = 0;
  for (size_t i = first; i < words / 8; i += step) {
    Word w[8];
    for (int k = 0; k < 8; ++k) w[k] = data[i * 8 + static_cast<size_t>(k)];
    for (int k = 0; k < 8; ++k) {
      const Word place = (i * 8 + static_cast<size_t>(k) + 1) * 0x9e3779b97f4a7c15ull;
      a += Mix(w[k] ^ place);
      b += Mix((w[k] + place) * 0xd1342543de82ef95ull + 1);
    }
  }
#if defined(__CUDA_ARCH__)
  for (int distance = 16; distance != 0; distance /= 2) {
    a += __shfl_down_sync(0xffffffffu, a, distance);
    b += __shfl_down_sync(0xffffffffu, b, distance);
  }
#endif
  *sum_a = a;
  *sum_b = b;
}

}  // namespace

// Adds the hashes to sums[0] and sums[1].
extern "C" __global__ void fingerprint(const Word* data, size_t words, Word* sums) {
  Word a = 0;
  Word b = 0;
  HashPart(data, words, &a, &b);
#if defined(__CUDA_ARCH__)
  if (threadIdx.x % 32 != 0) return;
#endif
  atomicAdd(&sums[0], a);
  atomicAdd(&sums[1], b);
}
SIMCUDA_EXPORT(fingerprint);

// Of StreamPrints (stream_prints.h). Row y of the grid takes the fingerprint of one piece, if that
// is asked for by now (`asked`, host memory): adds up in its three words of `sums`, which it finds
// and leaves zero, and the last to add writes the two results to `results`, host memory.
struct Pieces {
  const Word* data[8];
  size_t words[8];
  uint32_t slots[8];
};

extern "C" __global__ void fingerprints(Pieces pieces, Word* sums, Word* results,
                                        const volatile uint32_t* asked) {
#if defined(__CUDA_ARCH__)
  // Across the bus, so by one thread of a block.
  __shared__ uint32_t wanted;
  if (threadIdx.x == 0) wanted = asked[pieces.slots[blockIdx.y]];
  __syncthreads();
  if (wanted == 0) return;
#else
  if (asked[pieces.slots[blockIdx.y]] == 0) return;
#endif
  Word a = 0;
  Word b = 0;
  HashPart(pieces.data[blockIdx.y], pieces.words[blockIdx.y], &a, &b);
  Word* const mine = sums + size_t{pieces.slots[blockIdx.y]} * 3;
  Word* const result = results + size_t{pieces.slots[blockIdx.y]} * 2;
#if defined(__CUDA_ARCH__)
  if (threadIdx.x % 32 != 0) return;
  const Word adders = Word{gridDim.x} * (blockDim.x / 32);
#else
  const Word adders = Word{gridDim.x} * blockDim.x;
#endif
  atomicAdd(&mine[0], a);
  atomicAdd(&mine[1], b);
  __threadfence();
  if (atomicAdd(&mine[2], Word{1}) != adders - 1) return;
  __threadfence();
  result[0] = atomicExch(&mine[0], Word{0});
  result[1] = atomicExch(&mine[1], Word{0});
  atomicExch(&mine[2], Word{0});
  __threadfence_system();
}
SIMCUDA_EXPORT(fingerprints);
