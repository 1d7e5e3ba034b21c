// The kernels of quantised.cu: numbers of eight bits in blocks of 32 with a scale, as ggml has
// them. Weights and what they are multiplied with have the same form.
#ifndef VRAMSPAN_BENCH_PROGRAMS_QUANTISED_KERNELS_H_
#define VRAMSPAN_BENCH_PROGRAMS_QUANTISED_KERNELS_H_

#include "program.h"

constexpr int kBlock = 32;
constexpr unsigned kMostKept = 4096;
struct Block {
  float scale;
  int words[kBlock / 4];
};

// A weight's numbers are even over the bytes; 74 is their root mean square.
__host__ __device__ inline Block Weights(size_t i, int width) {
  Block block;
  block.scale = (0.5f + static_cast<float>(Mix(~i) >> 40) / (1 << 24)) /
                (74 * sqrtf(static_cast<float>(width)));
  for (int w = 0; w < kBlock / 4; ++w) block.words[w] = static_cast<int>(Mix(i * 8 + w));
  return block;
}
__global__ void Fill(Block* weights, size_t count, int width) {
  for (size_t i = First(); i < count; i += Step()) weights[i] = Weights(i, width);
}

// New inputs for each pass. The number of the pass is kept on the device, for graphs' sake.
__global__ void Begin(float* x, size_t count, const unsigned* pass) {
  for (size_t i = First(); i < count; i += Step())
    x[i] = static_cast<float>(Mix(*pass * count + i) >> 40) / (1 << 23) - 1;
}
__global__ void End(const float* x, float* sum, size_t count, unsigned* pass) {
  for (size_t i = First(); i < count; i += Step()) sum[i] += x[i];
  if (First() == 0) ++*pass;
}

// A row of x, normalised, as blocks: by one block of 256 threads a row.
__global__ void Quantise(const float* x, Block* blocks, int width) {
  __shared__ float sums[256];
  x += size_t{blockIdx.x} * width;
  blocks += size_t{blockIdx.x} * (width / kBlock);
  float sum = 0;
  for (int i = threadIdx.x; i < width; i += 256) sum += x[i] * x[i];
  sums[threadIdx.x] = sum;
  __syncthreads();
  for (int half = 128; half > 0; half /= 2) {
    if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
    __syncthreads();
  }
  const float factor = 1 / sqrtf(sums[0] / width + 1e-6f);
  for (int b = threadIdx.x; b < width / kBlock; b += 256) {
    float most = 1e-6f;
    for (int i = 0; i < kBlock; ++i) most = fmaxf(most, fabsf(x[b * kBlock + i] * factor));
    Block block{most / 127, {}};
    for (int i = 0; i < kBlock; ++i) {
      const int number = __float2int_rn(x[b * kBlock + i] * factor / block.scale);
      block.words[i / 4] |= (number & 255) << (i % 4 * 8);
    }
    blocks[b] = block;
  }
}

// A product of rows, by one warp; all its threads get it.
__device__ inline float Dot(const Block* row, const Block* x, int blocks) {
  float sum = 0;
  for (int b = threadIdx.x % 32; b < blocks; b += 32) {
    int product = 0;
    for (int w = 0; w < kBlock / 4; ++w) product = __dp4a(row[b].words[w], x[b].words[w], product);
    sum += product * (row[b].scale * x[b].scale);
  }
  for (int other = 16; other > 0; other /= 2) sum += __shfl_xor_sync(~0u, sum, other);
  return sum;
}

// The two experts of a token whose rows of the router give most, by one warp. Of a single token
// they are kept for the bound as well.
__global__ void Route(const Block* router, const Block* x, int width, int experts, int* chosen,
                      int* kept, const unsigned* pass, int kept_a_pass) {
  const int blocks = width / kBlock;
  float best = -1e30f, second = -1e30f;
  int first = 0, other = 0;
  for (int e = 0; e < experts; ++e) {
    const float score = Dot(router + e * blocks, x + size_t{blockIdx.x} * blocks, blocks);
    if (score > best) {
      second = best, other = first;
      best = score, first = e;
    } else if (score > second) {
      second = score, other = e;
    }
  }
  if (threadIdx.x != 0) return;
  chosen[2 * blockIdx.x] = first;
  chosen[2 * blockIdx.x + 1] = other;
  if (kept == nullptr || *pass >= kMostKept) return;
  kept[*pass * kept_a_pass] = first;
  kept[*pass * kept_a_pass + 1] = other;
}

// What comes out between two products of a layer; with both signs, so that tokens stay different.
__device__ inline float Clamp(float value) { return fminf(fmaxf(value, -1), 1); }

// Of each expert the jobs that chose it, in their order. A job is a choice of a token. `unused`
// counts the experts of a prompt that no job chose.
__global__ void List(const int* chosen, int jobs, int* lists, int* counts, unsigned* unused) {
  const int expert = threadIdx.x;
  int count = 0;
  for (int job = 0; job < jobs; ++job)
    if (chosen[job] == expert) lists[expert * jobs + count++] = job;
  counts[expert] = count;
  if (unused != nullptr && count == 0) atomicAdd(unused, 1);
}

// For one token: a warp computes an output of job blockIdx.y.
__global__ void Multiply(const Block* weights, size_t expert_stride, const int* chosen,
                         const Block* x, int jobs_of_x, float* y, int width, int rows, bool clamp) {
  const int row = blockIdx.x * 8 + threadIdx.x / 32, job = blockIdx.y, blocks = width / kBlock;
  if (row >= rows) return;
  const Block* const w = weights + chosen[job] * expert_stride + size_t(row) * blocks;
  const float sum = Dot(w, x + size_t(job / jobs_of_x) * blocks, blocks);
  if (threadIdx.x % 32 == 0) y[size_t(job) * rows + row] = clamp ? Clamp(sum) : sum;
}

// For many: 64 rows times 32 jobs of expert blockIdx.z, by 256 threads with 2 x 4 outputs each.
__global__ void MultiplyMany(const Block* weights, size_t expert_stride, const int* lists,
                             const int* counts, int jobs, const Block* x, int jobs_of_x, float* y,
                             int width, int rows, bool clamp) {
  __shared__ Block w_tile[64], x_tile[32];
  const int expert = blockIdx.z, count = counts[expert], first = blockIdx.x * 32;
  const int blocks = width / kBlock, row = blockIdx.y * 64;
  if (first >= count) return;
  const int* const list = lists + expert * jobs;
  const Block* const w = weights + expert * expert_stride + size_t(row) * blocks;
  const int r = threadIdx.x / 8 * 2, c = threadIdx.x % 8 * 4;
  float sum[2][4] = {};
  for (int b = 0; b < blocks; ++b) {
    const int i = threadIdx.x;
    if (i < 64 && row + i < rows) w_tile[i] = w[size_t(i) * blocks + b];
    if (i >= 64 && i < 96 && first + i - 64 < count)
      x_tile[i - 64] = x[size_t(list[first + i - 64] / jobs_of_x) * blocks + b];
    __syncthreads();
    for (int p = 0; p < 2; ++p) {
      for (int q = 0; q < 4; ++q) {
        int product = 0;
        for (int k = 0; k < kBlock / 4; ++k)
          product = __dp4a(w_tile[r + p].words[k], x_tile[c + q].words[k], product);
        sum[p][q] += product * (w_tile[r + p].scale * x_tile[c + q].scale);
      }
    }
    __syncthreads();
  }
  for (int p = 0; p < 2; ++p)
    for (int q = 0; q < 4; ++q)
      if (row + r + p < rows && first + c + q < count)
        y[size_t(list[first + c + q]) * rows + row + r + p] = clamp ? Clamp(sum[p][q]) : sum[p][q];
}

__global__ void Add(float* x, const float* y, int width, int choices, size_t count) {
  for (size_t i = First(); i < count; i += Step())
    for (int c = 0; c < choices; ++c) x[i] += y[(i / width * choices + c) * width + i % width];
}

#endif  // VRAMSPAN_BENCH_PROGRAMS_QUANTISED_KERNELS_H_
