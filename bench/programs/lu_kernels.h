// The kernels of lu.cu. They name the matrix by its start, and parts of it by indices.
#ifndef VRAMSPAN_BENCH_PROGRAMS_LU_KERNELS_H_
#define VRAMSPAN_BENCH_PROGRAMS_LU_KERNELS_H_

#include "program.h"

constexpr int kTile = 64, kPanel = 256;

// Three times what a random matrix of [-1, 1) needs on its diagonal: no pivot gets near zero.
__host__ __device__ inline float OnDiagonal(size_t n) { return 3 * sqrtf(static_cast<float>(n)); }

__device__ inline float Given(size_t row, size_t column, size_t n) {
  if (row == column) return OnDiagonal(n);
  return static_cast<float>(Mix(row * n + column) >> 40) / (1 << 23) - 1;
}

__global__ void Fill(float* m, size_t n) {
  for (size_t i = First(); i < n * n; i += Step()) m[i] = Given(i / n, i % n, n);
}

using Tile = float[kTile][kTile + 1];

__device__ inline void Load(Tile& tile, const float* from, size_t n) {
  for (int i = 0; i < kTile; ++i) tile[i][threadIdx.x] = from[i * n + threadIdx.x];
}
__device__ inline void Store(float* to, size_t n, const Tile& tile) {
  for (int i = 0; i < kTile; ++i) to[i * n + threadIdx.x] = tile[i][threadIdx.x];
}

// The tile at (k, k) becomes L and U, by one block of kTile threads: each has a row.
__global__ void Diagonal(float* m, size_t n, size_t k) {
  __shared__ Tile tile;
  Load(tile, m + k * n + k, n);
  __syncthreads();
  const int row = threadIdx.x;
  for (int i = 0; i < kTile; ++i) {
    if (row > i) {
      const float factor = tile[row][i] / tile[i][i];
      tile[row][i] = factor;
      for (int j = i + 1; j < kTile; ++j) tile[row][j] -= factor * tile[i][j];
    }
    __syncthreads();
  }
  Store(m + k * n + k, n, tile);
}

// Tiles below the diagonal one, from `row` on: X U = tile. Each thread has a row of X.
__global__ void Lower(float* m, size_t n, size_t k, size_t row) {
  __shared__ Tile u, x;
  float* const at = m + (row + size_t{blockIdx.x} * kTile) * n + k;
  Load(u, m + k * n + k, n);
  Load(x, at, n);
  __syncthreads();
  float* const mine = x[threadIdx.x];
  for (int j = 0; j < kTile; ++j) {
    float sum = mine[j];
    for (int p = 0; p < j; ++p) sum -= mine[p] * u[p][j];
    mine[j] = sum / u[j][j];
  }
  __syncthreads();
  Store(at, n, x);
}

// Tiles right of the diagonal one, from `column` on: L X = tile. Each thread has a column of X.
__global__ void Upper(float* m, size_t n, size_t k, size_t column) {
  __shared__ Tile l, x;
  float* const at = m + k * n + column + size_t{blockIdx.x} * kTile;
  Load(l, m + k * n + k, n);
  Load(x, at, n);
  __syncthreads();
  for (int i = 0; i < kTile; ++i) {
    float sum = x[i][threadIdx.x];
    for (int p = 0; p < i; ++p) sum -= l[i][p] * x[p][threadIdx.x];
    x[i][threadIdx.x] = sum;
  }
  Store(at, n, x);
}

// Tiles from (row, column) on, less the product of `depth` columns and rows from k on. A block of
// 256 threads has a tile, each thread 4 x 4 elements of it.
__global__ void Subtract(float* m, size_t n, size_t k, int depth, size_t row, size_t column) {
  constexpr int kDeep = 16;
  __shared__ float a[kDeep][kTile + 4], b[kDeep][kTile];
  row += size_t{blockIdx.y} * kTile;
  column += size_t{blockIdx.x} * kTile;
  const int y = threadIdx.x / 16 * 4, x = threadIdx.x % 16 * 4;
  float sum[4][4] = {};
  for (int at = 0; at < depth; at += kDeep) {
    for (int e = threadIdx.x; e < kDeep * kTile; e += 256) {
      a[e % kDeep][e / kDeep] = m[(row + e / kDeep) * n + k + at + e % kDeep];
      b[e / kTile][e % kTile] = m[(k + at + e / kTile) * n + column + e % kTile];
    }
    __syncthreads();
#pragma unroll
    for (int p = 0; p < kDeep; ++p)
      for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 4; ++j) sum[i][j] += a[p][y + i] * b[p][x + j];
    __syncthreads();
  }
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 4; ++j) m[(row + y + i) * n + column + x + j] -= sum[i][j];
}

enum class Part { kGiven, kUpper, kLower };

// A part of the matrix times x, a block a row. kGiven is what was there before; L has ones.
__global__ void Rows(const float* m, size_t n, Part part, const double* x, double* y) {
  __shared__ double sums[256];
  const size_t row = blockIdx.x;
  const size_t from = part == Part::kUpper ? row : 0, to = part == Part::kLower ? row : n;
  double sum = 0;
  for (size_t j = from + threadIdx.x; j < to; j += blockDim.x)
    sum += (part == Part::kGiven ? Given(row, j, n) : m[row * n + j]) * x[j];
  sums[threadIdx.x] = sum;
  __syncthreads();
  for (int half = 128; half > 0; half /= 2) {
    if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) y[row] = sums[0] + (part == Part::kLower ? x[row] : 0);
}

#endif  // VRAMSPAN_BENCH_PROGRAMS_LU_KERNELS_H_
