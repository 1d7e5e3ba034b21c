// What the programs of OptiX (rays_device.cu) and the others of rays.cu both know: how the scene is
// divided, where rays begin, and what a launch is told.
#ifndef VRAMSPAN_BENCH_PROGRAMS_RAYS_LAUNCH_H_
#define VRAMSPAN_BENCH_PROGRAMS_RAYS_LAUNCH_H_

#include <cstdint>

// A square of cells. A cell has a triangle in each of its layers, and rays in rows and columns.
constexpr uint32_t kCells = 512, kLayers = 4, kCellRays = 4;
constexpr uint32_t kTriangles = kCells * kCells * kLayers;
constexpr uint32_t kSide = kCells * kCellRays;
// Units of length. All of the scene is below the place where rays begin.
constexpr int kCellSize = 16, kRayStep = kCellSize / kCellRays, kSky = 2048;
// What is said of a ray that meets no triangle.
constexpr uint32_t kMiss = 0xffffffff;

// Where the rays of a row or column go down, within the scene and within their cell.
__host__ __device__ constexpr int RayPlace(uint32_t ray) {
  return static_cast<int>(ray) * kRayStep + 1;
}

struct Launch {
  unsigned long long scene;  // The handle of the structure to look into.
  uint32_t* hits;            // kSide rows of kSide triangles.
};

#endif  // VRAMSPAN_BENCH_PROGRAMS_RAYS_LAUNCH_H_
