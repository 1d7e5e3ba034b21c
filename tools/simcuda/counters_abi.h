#ifndef VRAMSPAN_TOOLS_SIMCUDA_COUNTERS_ABI_H_
#define VRAMSPAN_TOOLS_SIMCUDA_COUNTERS_ABI_H_

// What libcuda.so.1 exports for the range profiler of libcupti.so.13: how much of the memory that
// was mapped with cuMemMap is touched in a stretch of time, by all work of the process. One stretch
// at a time. Thread-safe.

#include <stdint.h>

#define SIMCUDA_COUNTERS_EXPORT extern "C" __attribute__((visibility("default")))

// In sectors of 32 bytes. Every page that is touched counts as a whole, once for reads and once for
// writes.
typedef struct simcudaTouched {
  uint64_t host_reads, host_writes;
  uint64_t device;
} simcudaTouched;

// 0 where SIMCUDA_COUNTERS=0 says that this user may not count.
SIMCUDA_COUNTERS_EXPORT int simcudaMayCount(void);
// 0, or -1: a stretch is open already (none is, for End), or the system refused.
// 0 where counting may start now: SIMCUDA_REFUSED_STARTS says how often not, after the first.
SIMCUDA_COUNTERS_EXPORT int simcudaCountStart(void);
SIMCUDA_COUNTERS_EXPORT int simcudaCountBegin(void);
SIMCUDA_COUNTERS_EXPORT int simcudaCountEnd(simcudaTouched* touched);

#endif  // VRAMSPAN_TOOLS_SIMCUDA_COUNTERS_ABI_H_
