/* vramspan: more memory than the GPU has, behind addresses that never change.
 *
 * The stable C interface. A runtime hands out memory on one device; what lies behind it may be
 * device memory or pinned host memory, and moves between the two under the same address. All of it
 * is always mapped and reachable by the GPU, so a kernel may use any pointer at any time; where a
 * byte lies decides only how fast it is.
 *
 * What moves, and when. A runtime never moves memory that it knows no users of. Where launches are
 * traced (vramspanConfig.tracer) it sees them all: nothing need be declared, and a scope only says
 * better what a launch touches. The rest of this paragraph is for work that is not traced: of other
 * contexts than the runtime's, or where the tracer is off. Memory becomes
 * movable once work that *declared* it (vramspanWorkBegin ... vramspanWorkEnd) has finished; from
 * then on every piece of GPU work that touches the allocation must be declared, or run inside a
 * scope declared with unknown ranges, or run after vramspanSynchronize and before anything else is
 * declared (a plain cuMemcpyDtoH, say; without it, memory that was evicted may not be mapped, and
 * the driver refuses the copy). Memory that no work ever declared stays where it was placed when it
 * was allocated, and so do allocations of at most 1 MiB: they share chunks with others.
 *
 * Conventions.
 *  - Sizes are bytes. Pointers are plain CUdeviceptr, 256-byte aligned, usable in every CUDA call.
 *  - Every function returns a CUresult. Where a driver call failed, its own error comes back; else
 *    CUDA_ERROR_INVALID_VALUE for arguments, CUDA_ERROR_OUT_OF_MEMORY where neither device nor host
 *    has room. vramspanLastErrorMessage() has the sentence: what happened, to what, what to do.
 *    Out-parameters are written only on success.
 *  - Threads: every function may be called from any thread at any time, vramspanDestroy excepted.
 *    A work scope belongs to the thread that opened it.
 *  - Context: a runtime belongs to the context that was current when it was created, or to the
 *    device's primary context if none was. Streams must be of that context.
 */
#ifndef VRAMSPAN_VRAMSPAN_H_
#define VRAMSPAN_VRAMSPAN_H_

#include <cuda.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define VRAMSPAN_API __attribute__((visibility("default")))
#else
#define VRAMSPAN_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define VRAMSPAN_VERSION_MAJOR 0
#define VRAMSPAN_VERSION_MINOR 1
#define VRAMSPAN_VERSION_PATCH 0

typedef struct vramspanRuntime_st* vramspanRuntime;

/* Zero everything but struct_size for the defaults. Strings are copied. Every field with a string
 * can also be set by the environment variable named behind it, which counts where the field is
 * NULL. */
typedef struct vramspanConfig {
  size_t struct_size;        /* sizeof(vramspanConfig) */
  int device;                /* Ordinal; ignored when a context is current. */
  uint32_t flags;            /* VRAMSPAN_CONFIG_* */
  const char* driver;        /* Library to open. VRAMSPAN_DRIVER. Default "libcuda.so.1". */
  const char* device_memory; /* "8GiB" or "50%" of the device's total. VRAMSPAN_DEVICE_MEMORY.
                                Default: what is free less a head-room for the driver. */
  const char* host_memory;   /* "64GiB" or "50%" of the machine's. VRAMSPAN_HOST_MEMORY. Default:
                                what MemAvailable and the cgroup allow, less a margin. */
  const char* chunk;         /* "auto", or "2MiB" ... "64MiB", a power of two. VRAMSPAN_CHUNK. */
  const char* policy;        /* "cost" (default), "arc", "clock", "cycle", "fifo", "lfu",
                                "lru", "random", "s3fifo" or "sieve". VRAMSPAN_POLICY. */
  const char* arena;         /* Addresses to reserve. VRAMSPAN_ARENA. Default "4TiB". */
  const char* tracer;   /* Where launches are seen: "auto" (default: CUPTI where it can be had),
                           "cupti" (an error where not), "hooks" (in a program that `vramspan run`
                           started, where it is the default), "off". VRAMSPAN_TRACER. */
  const char* overlap;  /* What may move beside traced work: "off" (default), "safe", "all";
                           docs/overlap.md. VRAMSPAN_OVERLAP. */
  const char* record;   /* Trace file to record the run in, for `vramspan replay`; "%p" stands for
                           the process's number. None by default. VRAMSPAN_RECORD. */
  uint32_t deadline_us; /* Held work is let go, with its memory where it is, when it could not
                           be served for this long because of work in flight. 0: 20,000. */
  uint32_t reserved[5];
} vramspanConfig;

/* No line on stderr when data first go to the host. */
#define VRAMSPAN_CONFIG_QUIET 0x1u
/* Never use host memory: out of memory instead. */
#define VRAMSPAN_CONFIG_NO_HOST 0x2u
/* The mover copies in the program's context, not in one of its own (saves its memory: 524 MiB on an
 * H100). */
#define VRAMSPAN_CONFIG_SHARE_CONTEXT 0x4u

/* Creates a runtime. `config` may be NULL. Where launches are traced it waits for the work that the
 * context has: call it before a stream waits for the calling thread. */
VRAMSPAN_API CUresult vramspanCreate(vramspanRuntime* runtime, const vramspanConfig* config);

/* Waits for declared work and moves in progress, then releases everything, live allocations
 * included. No other call on the runtime may be running or follow. An error says what the driver
 * did not take back; the runtime is gone all the same. */
VRAMSPAN_API CUresult vramspanDestroy(vramspanRuntime runtime);

/* Allocates `size` bytes, 256-byte aligned; on the device while the budget has room, else in host
 * memory (nothing is moved for a new allocation: it holds nothing yet). CUDA_ERROR_INVALID_VALUE
 * for 0 bytes. */
VRAMSPAN_API CUresult vramspanMemAlloc(vramspanRuntime runtime, CUdeviceptr* ptr, size_t size);

/* Frees an allocation by its start address. The memory is used again only when declared work that
 * was submitted before has finished; the call may return before that. Undeclared work that still
 * uses the memory must have finished. Freeing twice, an interior or a foreign pointer:
 * CUDA_ERROR_INVALID_VALUE, nothing changes. A null pointer is fine. */
VRAMSPAN_API CUresult vramspanMemFree(vramspanRuntime runtime, CUdeviceptr ptr);

/* --- Declared work ------------------------------------------------------------------------- */

#define VRAMSPAN_READ 0x1u
/* Without READ: may still be read; a hint that old contents do not matter is not given by it. */
#define VRAMSPAN_WRITE 0x2u
/* Only kernels touch it in this scope (also through libraries and graphs): no copy, fill or query
 * names it. Then it may be remapped while the scope is still open. Matters for scopes that stay
 * open for long, or whose thread blocks in the driver. */
#define VRAMSPAN_KERNELS_ONLY 0x4u
/* Each byte is touched at most once: served where it lies, never fetched for this work. Right for
 * copies to and from the program's memory. */
#define VRAMSPAN_ONCE 0x8u

typedef struct vramspanRange {
  CUdeviceptr ptr; /* Anywhere in an allocation of the runtime. Foreign ranges are ignored. */
  size_t size;     /* Clipped to the allocation. */
  uint32_t access; /* VRAMSPAN_READ | VRAMSPAN_WRITE, and what is known beside */
  uint32_t reserved;
} vramspanRange;

/* Between Begin and End the calling thread submits GPU work to `stream` (kernels, copies, memsets,
 * graph launches, library calls) that touches these ranges of the runtime's memory and no others:
 * the declaration is trusted. Work may go to other streams as well if `stream` waits for it before
 * End. Begin puts a wait into the stream where memory must be moved first, and returns at once; the
 * work starts when its memory is in place (or when that turns out to be impossible: then it runs
 * with the memory where it is). Begin itself waits only where one of its ranges is being remapped
 * just then (some 0.1 ms; an error a second after the driver refused a remap), and while 128
 * pieces of work are held (160 where all its ranges are VRAMSPAN_KERNELS_ONLY). What a scope names
 * is not remapped before its End; a thread that blocks inside its scope finds its memory served
 * where it is. Scopes of one thread do not nest. In a capturing stream a scope holds nothing back,
 * and only keeps mapped what captured copies and fills name: declare the graph's launch as well,
 * and instantiate the graph inside a scope (the driver looks its fills up then).
 *
 * `ranges` NULL with count 0 declares work whose memory is unknown: no memory is moved while it
 * runs. Errors (a bad stream, a scope already open) leave no scope open. */
VRAMSPAN_API CUresult vramspanWorkBegin(vramspanRuntime runtime, CUstream stream,
                                        const vramspanRange* ranges, size_t count);
VRAMSPAN_API CUresult vramspanWorkEnd(vramspanRuntime runtime, CUstream stream);

/* Call before destroying a stream that carried declared work while memory sufficed: then nothing
 * was recorded that says when its work ends. Otherwise memory allocated before memory ran short may
 * stay where it is; after an error as well, until the next vramspanSynchronize. Never waits. The
 * per-thread default stream of a thread that ends needs no such call. */
VRAMSPAN_API CUresult vramspanStreamForget(vramspanRuntime runtime, CUstream stream);

/* --- Placement by hand --------------------------------------------------------------------- */

typedef enum vramspanAdvice {
  /* Takes back any of the others. */
  VRAMSPAN_ADVISE_NONE = 0,
  /* Fetched when next used, then stays while the budget allows. */
  VRAMSPAN_ADVISE_KEEP_ON_DEVICE = 1,
  /* Leaves first; served in place, never fetched for work. */
  VRAMSPAN_ADVISE_PREFER_HOST = 2,
  /* The host copy is kept, so that leaving costs no copy. */
  VRAMSPAN_ADVISE_READ_MOSTLY = 3,
  /* Each byte is read once: served in place. */
  VRAMSPAN_ADVISE_STREAMED_ONCE = 4
} vramspanAdvice;

/* Applies to every chunk that the range touches. As cuMemAdvise: a hint, never a condition. */
VRAMSPAN_API CUresult vramspanMemAdvise(vramspanRuntime runtime, CUdeviceptr ptr, size_t size,
                                        vramspanAdvice advice);

typedef enum vramspanLocation {
  VRAMSPAN_LOCATION_DEVICE = 0,
  VRAMSPAN_LOCATION_HOST = 1
} vramspanLocation;

/* Moves the range's chunks, in the background, as declared work of `stream` would have it: ordered
 * after what the stream holds, and later work of the stream waits for the move. What finds no room
 * stays where it is. Counts as a declaration (the range becomes movable). */
VRAMSPAN_API CUresult vramspanMemPrefetchAsync(vramspanRuntime runtime, CUdeviceptr ptr,
                                               size_t size, vramspanLocation to, CUstream stream);

/* Fetches the range's chunks if needed, waits for it, and keeps them on the device until unpinned.
 * For memory that others reach by other ways (IPC, RDMA, registration). OUT_OF_MEMORY if the budget
 * has no room for all of it: then nothing is pinned. Pins count. */
VRAMSPAN_API CUresult vramspanMemPin(vramspanRuntime runtime, CUdeviceptr ptr, size_t size);
VRAMSPAN_API CUresult vramspanMemUnpin(vramspanRuntime runtime, CUdeviceptr ptr, size_t size);

/* New budgets, up or down. A lower device budget evicts in the background until it is met; a host
 * budget below what is in use refuses new host memory and moves nothing. */
VRAMSPAN_API CUresult vramspanSetDeviceBudget(vramspanRuntime runtime, size_t bytes);
VRAMSPAN_API CUresult vramspanSetHostBudget(vramspanRuntime runtime, size_t bytes);

/* Whether work on another device may touch the runtime's memory, all of it and what is allocated
 * later; cuCtxEnablePeerAccess does not reach it. Copies between the devices need it as well:
 * without it the driver refuses those of chunks on the device, and crashes in those of chunks on
 * the host (the preload allows it where a copy needs it; seen with two H100s). Takes a driver call
 * a chunk (1.5 ms each on two H200s), and each later move as much longer. INVALID_VALUE for devices
 * that cannot reach this one. Where allowing it fails the device has no access; where taking it
 * back fails it may keep some. Work on other devices is waited for where launches are traced; else
 * memory must be pinned (vramspanMemPin) from before such work is submitted until it has ended. */
VRAMSPAN_API CUresult vramspanSetPeerAccess(vramspanRuntime runtime, CUdevice peer, int allowed);

/* --- Looking --------------------------------------------------------------------------------*/

/* Waits until all declared work so far has run and every move it caused or that was asked for has
 * ended. Returns (and takes) the first error of a background move since the last time: the data are
 * right even then, but memory is not where it should be. */
VRAMSPAN_API CUresult vramspanSynchronize(vramspanRuntime runtime);

/* The same error without waiting. CUDA_SUCCESS if there is none. */
VRAMSPAN_API CUresult vramspanTakeBackgroundError(vramspanRuntime runtime);

/* Gives CUPTI up for good, of all runtimes of the process, so that a profiler that is about to
 * start in it can have it: CUPTI takes one tool at a time, and does not tell who holds it that
 * another asked. From here on launches are not seen: memory stays where it is, and may be touched
 * by anybody (docs/linking.md). Nothing happens where CUPTI is not held. Not from inside a scope.
 * CUDA_ERROR_TIMEOUT: a call that the tracer saw begin has not returned within a second; CUPTI is
 * still held, try again. */
VRAMSPAN_API CUresult vramspanReleaseCupti(void);

typedef struct vramspanResidency {
  uint64_t device_bytes; /* Of the range, on the device (pinned included). */
  uint64_t host_bytes;
  uint64_t pinned_bytes;
  uint64_t twin_bytes; /* On the device with an equal host copy. */
} vramspanResidency;
VRAMSPAN_API CUresult vramspanMemResidency(vramspanRuntime runtime, CUdeviceptr ptr, size_t size,
                                           vramspanResidency* residency);

/* The start and size of the live allocation that holds `ptr`: the size asked for, or for
 * allocations of at most 1 MiB what was set aside for it. CUDA_ERROR_NOT_FOUND. */
VRAMSPAN_API CUresult vramspanMemGetAddressRange(vramspanRuntime runtime, CUdeviceptr* base,
                                                 size_t* size, CUdeviceptr ptr);

/* Counters since creation, and current sizes. Set struct_size first. With VRAMSPAN_STATS=- in the
 * environment every runtime shows them at its end, on stderr; VRAMSPAN_STATS=FILE appends them to a
 * file, as a line of JSON where its name ends in .json. */
typedef struct vramspanStatistics {
  size_t struct_size;
  uint64_t device_budget, device_used, device_cached;
  uint64_t host_budget, host_used, host_cached;
  uint64_t allocations, allocated_bytes; /* live */
  uint64_t peak_allocated_bytes;
  uint64_t chunks;                     /* live */
  uint64_t works, works_held;          /* declared; of these held by a wait */
  uint64_t works_in_place;             /* released with some memory left on the host */
  uint64_t deadlines;                  /* holds let go by the deadline */
  uint64_t bytes_in, bytes_out;        /* copied to the device, to the host */
  uint64_t bytes_out_clean;            /* evicted without a copy: twin or fresh */
  uint64_t fetches, evictions, remaps; /* chunks; remaps of addresses */
  uint64_t moves_failed;               /* given up after a driver call failed */
  uint64_t hold_ns;                    /* summed over held work: from Begin to release */
  uint64_t copy_in_ns, copy_out_ns;    /* time with a copy of that direction under way */
  uint64_t vmm_ns;                     /* time inside VMM calls of the mover */
  uint64_t unsettled_streams;          /* see vramspanStreamForget */
  /* Of traced work, since memory first ran short. */
  uint64_t launches, copies; /* kernels and graphs; copies and fills */
  uint64_t
      launches_unknown;   /* launches that named no memory of ours, and may reach it all the same */
  uint64_t touches;       /* pointers and ranges of our memory that they named */
  uint64_t bytes_scanned; /* of parameters and small host copies, for those pointers */
  uint64_t bytes_in_place;  /* served from host memory to launches, at most once each */
  uint64_t trials;          /* chunks left on the host once, to see what that costs */
  uint64_t returned;        /* chunks that came back when there was room */
  uint64_t forecast_hits;   /* launches that were foreseen from the sequence of those before, */
  uint64_t forecast_misses; /* and where something else came */
  uint64_t stall_drain_ns;  /* the first held work waited: for running work to end, */
  uint64_t stall_copy_ns;   /* for copies, */
  uint64_t stall_vmm_ns;    /* for remaps */
  uint64_t fetches_unused;  /* of fetches: evicted again before any work had used them (thrash) */
} vramspanStatistics;
VRAMSPAN_API CUresult vramspanGetStatistics(vramspanRuntime runtime, vramspanStatistics* out);

/* The sentence for the calling thread's last failed vramspan call; "" if none. Valid until that
 * thread's next failure. */
VRAMSPAN_API const char* vramspanLastErrorMessage(void);

/* "0.1.0" */
VRAMSPAN_API const char* vramspanVersion(void);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* VRAMSPAN_VRAMSPAN_H_ */
