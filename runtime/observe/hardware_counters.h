// Between the runtime and what reads the GPU's counters (the CUPTI tracer's library). Plain C, as
// launch_source.h, and found in the same library.
//
// A range is one stretch of time on one context, from `begin` to `end`; what the GPU's second-level
// cache was asked for meanwhile, by whomever, is counted. Ranges do not nest. Results come in
// batches, and all of them: `counted` is called once for each range, from inside `end`, `flush` or
// `close`, on the thread that called that.
//
// Threads: one call at a time for one vramspanCounters. The context is current in `open`, `begin`,
// `end`, `flush` and `close`. Functions that return int: 0, or a sentence in `error` (of `size`
// bytes) that says why not.
#ifndef VRAMSPAN_RUNTIME_OBSERVE_HARDWARE_COUNTERS_H_
#define VRAMSPAN_RUNTIME_OBSERVE_HARDWARE_COUNTERS_H_

#include <cuda.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define VRAMSPAN_COUNTERS_VERSION 2u

// What `begin` returns where counting cannot begin now, and may later: another thread captures, or
// else keeps CUPTI from starting.
#define VRAMSPAN_COUNTERS_NOT_NOW 2

// What counts are of: the cache's sectors.
#define VRAMSPAN_SECTOR_BYTES 32u

typedef struct vramspanCounted {
  uint64_t tag;         // As given to `begin`.
  uint64_t host_reads;  // Sectors of host memory, read and written.
  uint64_t host_writes;
  uint64_t device;  // Sectors of device memory. With `has_device` only.
  uint32_t has_device;
} vramspanCounted;

typedef struct vramspanCounters vramspanCounters;

typedef struct vramspanCountersTable {
  uint32_t version;  // VRAMSPAN_COUNTERS_VERSION
  // `library` is where to look for CUPTI first, or null. `denied` becomes 1 where the reason is
  // that this user may not read counters.
  int (*open)(CUcontext context, CUdevice device, const char* library,
              void (*counted)(void* user, const vramspanCounted* range), void* user,
              vramspanCounters** counters, int* denied, char* error, size_t size);
  int (*begin)(vramspanCounters* counters, uint64_t tag, char* error, size_t size);
  int (*end)(vramspanCounters* counters, char* error, size_t size);
  // Delivers what is not delivered yet. Not inside a range.
  int (*flush)(vramspanCounters* counters, char* error, size_t size);
  // Flushes, and ends. Whatever fails, `counters` is gone.
  int (*close)(vramspanCounters* counters, char* error, size_t size);
} vramspanCountersTable;

// What the library exports under the name vramspanCountersGet.
typedef const vramspanCountersTable* (*vramspanCountersGet_t)(void);
#define VRAMSPAN_COUNTERS_GET "vramspanCountersGet"

#ifdef __cplusplus
}
#endif

#endif  // VRAMSPAN_RUNTIME_OBSERVE_HARDWARE_COUNTERS_H_
