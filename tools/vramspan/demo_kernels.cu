// The kernels of `vramspan demo`, compiled for the GPU and for the simulated driver. Everything
// they compute is exact: integers, and floats without contraction, so results compare bit by bit.
#include <cstddef>
#include <cstdint>

#include "tools/simcuda/grid_range.h"

namespace {

// `work` rounds of arithmetic on one value: how much is computed for each byte that is moved.
__device__ inline uint32_t Mix(uint32_t x, uint32_t work) {
  for (uint32_t i = 0; i < work; ++i) {
    x = x * 2654435761u + 0x9e3779b9u;
    x ^= x >> 15;
  }
  return x;
}

__device__ inline uint64_t Scramble(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

}  // namespace

extern "C" __global__ void fill_integers(uint32_t* data, size_t count, uint32_t seed) {
  for (const size_t i : GridRange(count)) {
    data[i] = Mix(static_cast<uint32_t>(i) ^ seed, 2);
  }
}
SIMCUDA_EXPORT(fill_integers);

extern "C" __global__ void fill_floats(float* data, size_t count, uint32_t seed) {
  for (const size_t i : GridRange(count)) {
    data[i] = static_cast<float>(Mix(static_cast<uint32_t>(i) ^ seed, 2) >> 8) / 16777216.0f;
  }
}
SIMCUDA_EXPORT(fill_floats);

// One layer: every output takes in its column of the weights, which are only read.
extern "C" __global__ void layer(const uint32_t* weights, size_t rows, const uint32_t* in,
                                 uint32_t* out, size_t width, uint32_t work) {
  for (const size_t j : GridRange(width)) {
    uint32_t x = in[j];
    for (size_t row = 0; row < rows; ++row) x = Mix(x ^ weights[row * width + j], work);
    out[j] = x;
  }
}
SIMCUDA_EXPORT(layer);

extern "C" __global__ void sweep_integers(uint32_t* state, const uint32_t* other, size_t count,
                                          uint32_t work) {
  for (const size_t i : GridRange(count)) {
    state[i] = Mix(state[i] + other[i], work);
  }
}
SIMCUDA_EXPORT(sweep_integers);

// Relaxes towards `other`; `work` steps that neither grow nor die out.
extern "C" __global__ void sweep_floats(float* state, const uint32_t* other, size_t count,
                                        uint32_t work) {
  for (const size_t i : GridRange(count)) {
    const float target = static_cast<float>(other[i] >> 8) / 16777216.0f;
    float x = state[i];
    for (uint32_t k = 0; k < work; ++k) x = x * 0.875f + target * 0.125f;
    state[i] = x;
  }
}
SIMCUDA_EXPORT(sweep_floats);

extern "C" __global__ void inject(uint32_t* state, size_t count, const uint32_t* activation,
                                  size_t width) {
  for (const size_t i : GridRange(count)) state[i] ^= activation[i % width];
}
SIMCUDA_EXPORT(inject);

// Adds two sums over every word and its place to sums[0] and sums[1]. Addition commutes, so the
// order of the threads does not matter.
extern "C" __global__ void digest(const uint32_t* data, size_t count, unsigned long long* sums) {
  const GridRange mine(count);
  if (mine.empty()) return;
  unsigned long long a = 0;
  unsigned long long b = 0;
  for (const size_t i : mine) {
    a += Scramble((static_cast<uint64_t>(i) << 32) + data[i]);
    b += data[i] * (2 * static_cast<unsigned long long>(i) + 1);
  }
  atomicAdd(&sums[0], a);
  atomicAdd(&sums[1], b);
}
SIMCUDA_EXPORT(digest);
