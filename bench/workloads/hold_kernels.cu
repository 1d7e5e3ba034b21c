// The kernels of hold_bench.
#include <cstdint>

extern "C" __global__ void nothing() {}
SIMCUDA_EXPORT(nothing);

// Runs until the host sets *flag.
extern "C" __global__ void wait_for_host(const volatile uint32_t* flag) {
  while (*flag == 0) __nanosleep(1000);
}
SIMCUDA_EXPORT(wait_for_host);
