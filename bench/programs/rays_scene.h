// The scene of rays.cu, and the ordinary kernels that work on it. Triangles lie flat, each over one
// half of its cell, at a height that changes with each lap. No two of a cell are at the same
// height, and no ray goes near an edge. So the triangle that a ray meets is known without OptiX.
#ifndef VRAMSPAN_BENCH_PROGRAMS_RAYS_SCENE_H_
#define VRAMSPAN_BENCH_PROGRAMS_RAYS_SCENE_H_

#include "program.h"
#include "rays_launch.h"

// The half in which x + y is less than the cell's size, or the other.
__host__ __device__ inline bool IsLowerHalf(uint32_t triangle) {
  return (Mix(triangle) >> 32 & 1) != 0;
}

__host__ __device__ inline int Height(uint32_t triangle, uint32_t lap) {
  const auto step = static_cast<uint32_t>(Mix(uint64_t{lap} << 32 | triangle) >> 40 & 0xff);
  return static_cast<int>(step * kLayers + triangle % kLayers);
}

// All numbers are whole and small, and so exact.
__host__ __device__ inline float4 Corner(uint32_t triangle, uint32_t corner, uint32_t lap) {
  const uint32_t cell = triangle / kLayers;
  const bool lower = IsLowerHalf(triangle);
  const bool far_x = lower == (corner == 1), far_y = lower == (corner == 2);
  const auto x = static_cast<int>(cell % kCells) * kCellSize + (far_x ? kCellSize : 0);
  const auto y = static_cast<int>(cell / kCells) * kCellSize + (far_y ? kCellSize : 0);
  return make_float4(static_cast<float>(x), static_cast<float>(y),
                     static_cast<float>(Height(triangle, lap)), 0);
}

// What the ray meets that begins in this row and column.
__host__ __device__ inline uint32_t Expected(uint32_t row, uint32_t column, uint32_t lap) {
  const uint32_t cell = row / kCellRays * kCells + column / kCellRays;
  const bool lower = RayPlace(row % kCellRays) + RayPlace(column % kCellRays) < kCellSize;
  uint32_t met = kMiss;
  int highest = -1;
  for (uint32_t layer = 0; layer < kLayers; ++layer) {
    const uint32_t triangle = cell * kLayers + layer;
    if (IsLowerHalf(triangle) != lower) continue;
    const int height = Height(triangle, lap);
    if (height > highest) highest = height, met = triangle;
  }
  return met;
}

constexpr size_t kRays = size_t{kSide} * kSide;

__device__ inline uint32_t ExpectedOf(size_t ray, uint32_t lap) {
  return Expected(static_cast<uint32_t>(ray / kSide), static_cast<uint32_t>(ray % kSide), lap);
}

__global__ void Place(float4* corners, uint32_t lap) {
  for (size_t i = First(); i < size_t{3} * kTriangles; i += Step())
    corners[i] = Corner(static_cast<uint32_t>(i / 3), static_cast<uint32_t>(i % 3), lap);
}

// In place of OptiX.
__global__ void Foretell(uint32_t* hits, uint32_t lap) {
  for (size_t i = First(); i < kRays; i += Step()) hits[i] = ExpectedOf(i, lap);
}

__global__ void CheckHits(const uint32_t* hits, uint32_t lap, unsigned long long* wrong) {
  for (size_t i = First(); i < kRays; i += Step())
    if (hits[i] != ExpectedOf(i, lap)) atomicAdd(wrong, 1);
}

// The program's other memory: words that the hits of each lap change.
__device__ inline uint32_t FirstWord(size_t i, uint32_t part) {
  return static_cast<uint32_t>(Mix(Mix(part) + i));
}
__device__ inline uint32_t NextWord(uint32_t word, uint32_t hit) {
  return word + static_cast<uint32_t>(Mix(uint64_t{word} << 32 | hit));
}

__global__ void Begin(uint32_t* words, size_t count, uint32_t part) {
  for (size_t i = First(); i < count; i += Step()) words[i] = FirstWord(i, part);
}

__global__ void Change(uint32_t* words, size_t count, const uint32_t* hits) {
  for (size_t i = First(); i < count; i += Step()) words[i] = NextWord(words[i], hits[i % kRays]);
}

__global__ void CheckWords(const uint32_t* words, size_t count, uint32_t part, uint32_t laps,
                           unsigned long long* wrong) {
  for (size_t i = First(); i < count; i += Step()) {
    uint32_t expected = FirstWord(i, part);
    for (uint32_t lap = 1; lap <= laps; ++lap)
      expected = NextWord(expected, ExpectedOf(i % kRays, lap));
    if (words[i] != expected) atomicAdd(wrong, 1);
  }
}

#endif  // VRAMSPAN_BENCH_PROGRAMS_RAYS_SCENE_H_
