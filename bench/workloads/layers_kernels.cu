// The kernels of layers_bench beside the GEMMs.
#include <cstddef>
#include <cstdint>

#include "tools/simcuda/grid_range.h"

namespace {

__device__ inline uint32_t Hash(uint32_t x) {
  x = (x ^ (x >> 16)) * 0x7feb352du;
  x = (x ^ (x >> 15)) * 0x846ca68bu;
  return x ^ (x >> 16);
}

}  // namespace

// Halves of either sign between 1/16 and 1/8, all mantissas.
extern "C" __global__ void fill_halves(uint16_t* data, size_t count, uint32_t seed) {
  for (const size_t i : GridRange(count)) {
    const uint32_t random = Hash(static_cast<uint32_t>(i) ^ seed);
    data[i] = static_cast<uint16_t>(0x2c00u | (random & 0x83ffu));
  }
}
SIMCUDA_EXPORT(fill_halves);

// For drivers without cuBLAS: a product of the same shape, of the bits taken as integers.
extern "C" __global__ void stand_in(size_t k, size_t m, const uint16_t* a, const uint16_t* b,
                                    uint16_t* c) {
  for (const size_t i : GridRange(k * m)) {
    const uint16_t* row = a + i % k * k;
    const uint16_t* column = b + i / k * k;
    uint32_t sum = 0;
    for (size_t p = 0; p < k; ++p) sum += static_cast<uint32_t>(row[p]) * column[p];
    c[i] = static_cast<uint16_t>(sum ^ (sum >> 16));
  }
}
SIMCUDA_EXPORT(stand_in);

// Adds two sums over every pair of halves and its place.
extern "C" __global__ void digest_halves(const uint32_t* data, size_t count,
                                         unsigned long long* sums) {
  const GridRange mine(count);
  if (mine.empty()) return;
  unsigned long long a = 0;
  unsigned long long b = 0;
  for (const size_t i : mine) {
    a += Hash(data[i] + static_cast<uint32_t>(i) * 0x9e3779b9u);
    b += data[i] * (2 * static_cast<unsigned long long>(i) + 1);
  }
  atomicAdd(&sums[0], a);
  atomicAdd(&sums[1], b);
}
SIMCUDA_EXPORT(digest_halves);
