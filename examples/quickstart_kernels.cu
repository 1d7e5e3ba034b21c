// The kernels of quickstart.cc, compiled for the GPU and for the simulated driver.
#include <cstddef>
#include <cstdint>

extern "C" __global__ void fill(uint32_t* data, size_t count, uint32_t seed) {
  const size_t step = size_t{gridDim.x} * blockDim.x;
  for (size_t i = size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step) {
    data[i] = static_cast<uint32_t>(i) * 2654435761u + seed;
  }
}
SIMCUDA_EXPORT(fill);

extern "C" __global__ void mix(uint32_t* data, const uint32_t* with, size_t count) {
  const size_t step = size_t{gridDim.x} * blockDim.x;
  for (size_t i = size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step) {
    data[i] = data[i] * 3 + with[i];
  }
}
SIMCUDA_EXPORT(mix);
