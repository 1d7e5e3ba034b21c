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

}  // namespace

// Adds to sums[0] and sums[1] two independent hashes of every word and its place. `words` is a
// multiple of 8.
extern "C" __global__ void fingerprint(const Word* data, size_t words, Word* sums) {
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
  if (threadIdx.x % 32 != 0) return;
#endif
  atomicAdd(&sums[0], a);
  atomicAdd(&sums[1], b);
}
SIMCUDA_EXPORT(fingerprint);
