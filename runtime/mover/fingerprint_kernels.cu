// The kernel behind fingerprint.h, for the GPU and for the simulated driver.
#include <cstddef>
#include <cstdint>

// Not unnamed: nvcc names what is in such a namespace by the folder, and builds would differ.
namespace fingerprint_parts {

using Word = unsigned long long;

// The finisher of SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number generators",
// OOPSLA 2014): every bit of the input moves every bit of the output.
__device__ inline Word Mix(Word x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

// Where this thread's k-th word of a round of eight is. On a GPU neighbours read neighbouring words
// at once; where threads run one after another each has its own cache lines.
__device__ inline size_t Place(size_t round, size_t k) {
  const size_t threads = size_t{gridDim.x} * blockDim.x;
  const size_t mine = size_t{blockIdx.x} * blockDim.x + threadIdx.x;
#if defined(__CUDA_ARCH__)
  return (round * 8 + k) * threads + mine;
#else
  return (round * threads + mine) * 8 + k;
#endif
}

// Two independent hashes of every word of this thread's part and its place.
__device__ inline void HashPart(const Word* data, size_t words, Word* sum_a, Word* sum_b) {
  Word a = 0;
  Word b = 0;
  for (size_t round = 0; Place(round, 0) < words; ++round) {
    const bool all = Place(round, 7) < words;
    Word w[8];
    for (size_t k = 0; k < 8; ++k) {
      if (all || Place(round, k) < words) w[k] = data[Place(round, k)];
    }
    for (size_t k = 0; k < 8; ++k) {
      const Word at = Place(round, k);
      if (!all && at >= words) break;
      const Word place = (at + 1) * 0x9e3779b97f4a7c15ull;
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

}  // namespace fingerprint_parts
using namespace fingerprint_parts;  // NOLINT

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

// Of StreamFingerprints (stream_fingerprints.h): takes the fingerprints of those of up to eight
// pieces that are asked for by now (`asked`, host memory). Adds up in a slot's words of `sums`,
// which it finds and leaves zero, and the last to add writes the two results to `results`, host
// memory.
struct Pieces {
  const Word* data[8];
  size_t words[8];
  uint32_t slots[8];
  uint32_t count;
};
struct Sums {
  Word a, b;
  Word added;  // Blocks; on the simulated driver threads.
  Word gate;   // Of a launch's first slot: what is below.
};

namespace fingerprint_parts {

#if defined(__CUDA_ARCH__)
// Which pieces are wanted, a bit each. A word of host memory is read once: blocks that read the
// same one are answered one after another, a microsecond each
// (docs/findings/0005-a-word-that-many-blocks-read.md). So the first block to come reads, and says
// in `gate`: blocks that came (16 bits) and left (16), what is wanted (8 bits from 32), and whether
// it has said so (bit 63).
__device__ inline unsigned Wanted(const Pieces& pieces, Word* gate,
                                  const volatile uint32_t* asked) {
  __shared__ unsigned wanted;
  if (threadIdx.x < 32) {
    Word seen = 0;
    if (threadIdx.x == 0) seen = atomicAdd(gate, Word{1});
    const bool first = (__shfl_sync(0xffffffffu, seen, 0) & 0xffff) == 0;
    unsigned mine = 0;
    if (first) {
      const bool ask = threadIdx.x < pieces.count && asked[pieces.slots[threadIdx.x]] != 0;
      mine = __ballot_sync(0xffffffffu, ask);
      if (threadIdx.x == 0) atomicAdd(gate, Word{1} << 63 | Word{mine} << 32);
    }
    if (threadIdx.x == 0) {
      while (!first && seen >> 63 == 0) seen = *static_cast<volatile Word*>(gate);
      wanted = first ? mine : static_cast<unsigned>(seen >> 32) & 0xff;
      // Nobody looks at it behind the last.
      const Word left = atomicAdd(gate, Word{1} << 16);
      if ((left >> 16 & 0xffff) == gridDim.x - 1) atomicExch(gate, Word{0});
    }
  }
  __syncthreads();
  return wanted;
}

// The sums of all threads of a block, for its first one.
__device__ inline void AddUpBlock(Word* a, Word* b) {
  __shared__ Word sums_a[32];
  __shared__ Word sums_b[32];
  if (threadIdx.x % 32 == 0) {
    sums_a[threadIdx.x / 32] = *a;
    sums_b[threadIdx.x / 32] = *b;
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    for (unsigned warp = 1; warp < blockDim.x / 32; ++warp) {
      *a += sums_a[warp];
      *b += sums_b[warp];
    }
  }
  __syncthreads();
}
#endif

__device__ inline void AddUp(Word a, Word b, Word adders, Sums* mine, Word* result) {
  atomicAdd(&mine->a, a);
  atomicAdd(&mine->b, b);
  __threadfence();
  if (atomicAdd(&mine->added, Word{1}) != adders - 1) return;
  __threadfence();
  result[0] = atomicExch(&mine->a, Word{0});
  result[1] = atomicExch(&mine->b, Word{0});
  atomicExch(&mine->added, Word{0});
  __threadfence_system();
}

}  // namespace fingerprint_parts

extern "C" __global__ void fingerprints(Pieces pieces, Sums* sums, Word* results,
                                        const volatile uint32_t* asked) {
#if defined(__CUDA_ARCH__)
  const unsigned wanted = Wanted(pieces, &sums[pieces.slots[0]].gate, asked);
#endif
  for (uint32_t i = 0; i < pieces.count; ++i) {
    const uint32_t slot = pieces.slots[i];
    Word a = 0;
    Word b = 0;
#if defined(__CUDA_ARCH__)
    if ((wanted >> i & 1) == 0) continue;
    HashPart(pieces.data[i], pieces.words[i], &a, &b);
    AddUpBlock(&a, &b);
    if (threadIdx.x != 0) continue;
    const Word adders = gridDim.x;
#else
    if (asked[slot] == 0) continue;
    HashPart(pieces.data[i], pieces.words[i], &a, &b);
    const Word adders = Word{gridDim.x} * blockDim.x;
#endif
    AddUp(a, b, adders, &sums[slot], &results[size_t{slot} * 2]);
  }
}
SIMCUDA_EXPORT(fingerprints);
