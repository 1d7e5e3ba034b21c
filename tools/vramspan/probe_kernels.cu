// The kernels that `vramspan info` tries and measures with; runtime/backing/probe_kernels.h says
// what each is for.
#include <cstddef>
#include <cstdint>

extern "C" __global__ void probe_sum(const uint64_t* data, uint64_t words,
                                     unsigned long long* total) {
  unsigned long long sum = 0;
  const uint64_t step = uint64_t{gridDim.x} * blockDim.x;
  for (uint64_t i = uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < words; i += step) {
    sum += data[i];
  }
  atomicAdd(total, sum);
}
SIMCUDA_EXPORT(probe_sum);

extern "C" __global__ void probe_fill(uint64_t* data, uint64_t words, uint64_t value) {
  const uint64_t step = uint64_t{gridDim.x} * blockDim.x;
  for (uint64_t i = uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < words; i += step) {
    data[i] = value;
  }
}
SIMCUDA_EXPORT(probe_fill);

extern "C" __global__ void probe_count(unsigned int* counter) { atomicAdd(counter, 1u); }
SIMCUDA_EXPORT(probe_count);
