/* vramspan: more memory than the GPU has, behind addresses that never change.
 *
 * The stable C interface. A runtime hands out memory on one device. Device memory or pinned host
 * memory backs each chunk. A chunk moves between the two under the same address. Every
 * chunk is mapped and reachable by the GPU whenever work that may touch it runs. Residency decides
 * only how fast an access is.
 *
 * What moves, and when. A runtime never moves memory whose users it does not know. If launches are
 * traced (vramspanConfig.tracer), the runtime sees them all. Nothing need be declared then; a scope
 * only states more exactly what a launch touches.
 *
 * The rules below are for work that is not traced: work of other contexts than the runtime's, and
 * all work if the tracer is off.
 *  - Memory becomes movable once work that *declared* it (vramspanWorkBegin ... vramspanWorkEnd)
 *    has finished.
 *  - From then on every piece of GPU work that touches the allocation must meet one condition:
 *     a. the work is declared, or
 *     b. the work runs inside a scope declared with unknown ranges, or
 *     c. the work runs after vramspanSynchronize and before anything else is declared.
 *    Condition c suits a plain cuMemcpyDtoH, say. Without vramspanSynchronize, evicted memory may
 *    not be mapped, and the driver refuses the copy.
 *  - Memory that no work ever declared stays where it was placed when it was allocated.
 *  - Allocations of at most 1 MiB stay as well: they share chunks with others.
 *
 * Conventions.
 *  - Sizes are bytes. Pointers are plain CUdeviceptr, 256-byte aligned, usable in every CUDA call.
 *  - Functions that can fail return a CUresult. If a driver call failed, it is that call's error.
 *    Else it is one of these:
 *     . CUDA_ERROR_INVALID_VALUE: an argument is wrong.
 *     . CUDA_ERROR_OUT_OF_MEMORY: neither device nor host has room, or the process has no memory.
 *     . CUDA_ERROR_ILLEGAL_STATE: the call is not possible now, inside a scope for example.
 *     . CUDA_ERROR_TIMEOUT: something that the call waits for did not end.
 *     . CUDA_ERROR_NOT_FOUND, CUDA_ERROR_NOT_SUPPORTED: there is no such thing here.
 *     . CUDA_ERROR_NOT_INITIALIZED: this is a child of fork, and the runtime is its parent's.
 *     . CUDA_ERROR_UNKNOWN: anything else.
 *    vramspanLastErrorMessage() has the sentence: what happened, to what, what to do.
 *    Out-parameters are written only on success.
 *  - Threads: every function may be called from any thread at any time, vramspanDestroy excepted.
 *    A work scope belongs to the thread that opened it.
 *  - Context: a runtime belongs to the context that was current when it was created. If none was
 *    current, it belongs to the device's primary context. Streams must be of that context.
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

/* Zero everything but struct_size for the defaults. Strings are copied. The environment variable
 * named behind a string field counts if the field is NULL. */
typedef struct vramspanConfig {
  size_t struct_size;        /* sizeof(vramspanConfig) */
  int device;                /* Ordinal; ignored when a context is current. */
  uint32_t flags;            /* VRAMSPAN_CONFIG_* */
  const char* driver;        /* Library to open. VRAMSPAN_DRIVER. Default "libcuda.so.1". */
  const char* device_memory; /* "8GiB" or "50%" of the device's total. VRAMSPAN_DEVICE_MEMORY.
                                Default: the free memory less a margin for the driver. */
  const char* host_memory;   /* "64GiB" or "50%" of the machine's. VRAMSPAN_HOST_MEMORY. Default:
                                what MemAvailable and the cgroup allow, less a margin. */
  const char* chunk;         /* "auto", or "2MiB" ... "64MiB", a power of two. VRAMSPAN_CHUNK. */
  const char* policy;        /* "cost" (default), "arc", "clock", "cycle", "fifo", "lfu",
                                "lru", "random", "s3fifo" or "sieve". VRAMSPAN_POLICY. */
  const char* arena;         /* Addresses to reserve. VRAMSPAN_ARENA. Default "4TiB". */
  const char* tracer;   /* How launches are seen: "auto" (default: CUPTI if it can be had), "cupti"
                           (an error if CUPTI cannot be had), "hooks" (the default in a program that
                           `vramspan run` started, and only there), "off". VRAMSPAN_TRACER. */
  const char* overlap;  /* What may move beside traced work: "auto" (default), "off", "proven",
                           "safe", "all"; docs/overlap.md. VRAMSPAN_OVERLAP. */
  const char* record;   /* Trace file to record the run in, for `vramspan replay`. "%p" stands for
                           the process id. Default: none. VRAMSPAN_RECORD; of that one, a file that
                           cannot be made is a line on stderr, and no error. */
  uint32_t deadline_us; /* Held work is released, with its memory where it is, if work in flight
                           kept it from being served for this long. 0: 20,000. */
  uint32_t reserved[5];
} vramspanConfig;

/* Print no line on stderr when data first go to the host. */
#define VRAMSPAN_CONFIG_QUIET 0x1u
/* Never use host memory: report out of memory instead. */
#define VRAMSPAN_CONFIG_NO_HOST 0x2u
/* The mover copies in the program's context, not in one of its own. This saves the memory of the
 * mover's context: 524 MiB on an H100. */
#define VRAMSPAN_CONFIG_SHARE_CONTEXT 0x4u

/* Creates a runtime. `config` may be NULL. If launches are traced, the call waits for the work that
 * the context has. Call it before any stream waits for the calling thread. */
VRAMSPAN_API CUresult vramspanCreate(vramspanRuntime* runtime, const vramspanConfig* config);

/* Waits for declared work and moves in progress, then releases everything, live allocations
 * included. No other call on the runtime may be running or follow. CUDA_ERROR_TIMEOUT: a scope is
 * open, or a thread is inside a submitting call. The runtime then stays, and moves stop; try again.
 * Any other error says what the driver did not take back: the runtime is gone all the same. */
VRAMSPAN_API CUresult vramspanDestroy(vramspanRuntime runtime);

/* Allocates `size` bytes, 256-byte aligned. The memory is on the device while the budget has room,
 * else in host memory. Nothing is moved for a new allocation: it holds nothing yet. 0 bytes:
 * CUDA_ERROR_INVALID_VALUE. */
VRAMSPAN_API CUresult vramspanMemAlloc(vramspanRuntime runtime, CUdeviceptr* ptr, size_t size);

/* Frees an allocation by its start address. The memory is used again only when declared work that
 * was submitted before has finished. The call may return before that. Undeclared work that still
 * uses the memory must have finished. Freeing twice, an interior or a foreign pointer:
 * CUDA_ERROR_INVALID_VALUE, nothing changes. A null pointer is fine. */
VRAMSPAN_API CUresult vramspanMemFree(vramspanRuntime runtime, CUdeviceptr ptr);

/* --- Declared work ------------------------------------------------------------------------- */

#define VRAMSPAN_READ 0x1u
/* The work may still read the range, also without VRAMSPAN_READ. The flag is no hint that the old
 * contents do not matter. */
#define VRAMSPAN_WRITE 0x2u
/* Only kernels touch the range in this scope (also through libraries and graphs). No copy, fill or
 * address query names it. The range may then be remapped while the scope is still open. The flag
 * matters for scopes that stay open for long, or whose thread blocks in the driver. */
#define VRAMSPAN_KERNELS_ONLY 0x4u
/* Each byte is touched at most once. The range is served in place, never fetched for this work. The
 * flag is right for copies to and from the program's memory. */
#define VRAMSPAN_ONCE 0x8u

typedef struct vramspanRange {
  CUdeviceptr ptr; /* Anywhere in an allocation of the runtime. Foreign ranges are ignored. */
  size_t size;     /* Clipped to the allocation. */
  uint32_t access; /* VRAMSPAN_READ, _WRITE or both, and other flags that are true */
  uint32_t reserved;
} vramspanRange;

/* Begin opens a scope, and End ends it. Between them the calling thread submits GPU work to
 * `stream`: kernels, copies, memsets, graph launches, library calls. That work touches these ranges
 * of the runtime's memory and no others: the declaration is trusted. Work may go to other streams
 * as well if `stream` waits for that work before End.
 *
 * Begin puts a wait into the stream if memory must be moved first, and returns at once. The work
 * starts when its memory is in place. If that turns out to be impossible, the work runs with its
 * memory where it is. Begin itself waits in three cases:
 *  - One of its ranges is being remapped just then. The wait takes some 0.1 ms. If the driver
 *    refused a remap, Begin returns an error a second later.
 *  - A broker has other programs work now, since their data do not fit together with this one's.
 * The wait takes seconds, two minutes at most (docs/sharing.md).
 *  - 128 pieces of work are held (160 if all its ranges are VRAMSPAN_KERNELS_ONLY).
 *
 * Memory that a scope names is not remapped before End, VRAMSPAN_KERNELS_ONLY excepted. If a thread
 * blocks inside its scope, its memory is served where it is. Scopes of one thread do not nest.
 *
 * In a capturing stream a scope holds nothing back. The scope only keeps mapped what captured
 * copies and fills name. Declare the graph's launch as well. Instantiate the graph inside a scope
 * too: the driver looks up the graph's fills then.
 *
 * `ranges` NULL with count 0 declares work whose memory is unknown: no memory is moved while it
 * runs. A Begin that fails (a bad stream, a scope already open) opens no scope. */
VRAMSPAN_API CUresult vramspanWorkBegin(vramspanRuntime runtime, CUstream stream,
                                        const vramspanRange* ranges, size_t count);
VRAMSPAN_API CUresult vramspanWorkEnd(vramspanRuntime runtime, CUstream stream);

/* Call this before destroying a stream that carried declared work while memory sufficed. No record
 * says when such work ends. Without the call, memory allocated before memory ran short may stay
 * where it is. The same holds after an error, until the next vramspanSynchronize. The call never
 * waits. The per-thread default stream of a thread that ends needs no such call. */
VRAMSPAN_API CUresult vramspanStreamForget(vramspanRuntime runtime, CUstream stream);

/* --- Explicit placement -------------------------------------------------------------------- */

typedef enum vramspanAdvice {
  /* Takes back any of the others. */
  VRAMSPAN_ADVISE_NONE = 0,
  /* Fetched when next used, then stays while the budget allows. */
  VRAMSPAN_ADVISE_KEEP_ON_DEVICE = 1,
  /* Evicted first; served in place, never fetched for work. */
  VRAMSPAN_ADVISE_PREFER_HOST = 2,
  /* The host copy is kept, so that an eviction costs no copy. */
  VRAMSPAN_ADVISE_READ_MOSTLY = 3,
  /* Each byte is read once: served in place. */
  VRAMSPAN_ADVISE_STREAMED_ONCE = 4
} vramspanAdvice;

/* Applies to every chunk that the range touches. A hint, never a condition, as with cuMemAdvise. */
VRAMSPAN_API CUresult vramspanMemAdvise(vramspanRuntime runtime, CUdeviceptr ptr, size_t size,
                                        vramspanAdvice advice);

typedef enum vramspanLocation {
  VRAMSPAN_LOCATION_DEVICE = 0,
  VRAMSPAN_LOCATION_HOST = 1
} vramspanLocation;

/* Moves the range's chunks in the background. The move is ordered in `stream` like declared work:
 * after what the stream holds. Later work of the stream waits for the move. Chunks that find no
 * room stay where they are. The call counts as a declaration: the range becomes movable. */
VRAMSPAN_API CUresult vramspanMemPrefetchAsync(vramspanRuntime runtime, CUdeviceptr ptr,
                                               size_t size, vramspanLocation to, CUstream stream);

/* The program does not want what is in the range any more. From here on in `stream` the contents
 * are undefined, until something is written there. So the chunks that lie in the range whole need
 * not be copied when they move. Other chunks keep all that is in them; the end of an allocation
 * ends a chunk. A hint: contents stay as they are while memory suffices, where launches are not
 * traced, of pinned memory, in a capturing stream, and while another thread has a scope open.
 *
 * The call puts nothing into the stream, and never waits for the GPU. It takes effect behind all
 * work that was submitted before the call. Work that is submitted later may not rely on the
 * contents, in any stream.
 *  - CUDA_ERROR_NOT_FOUND: `ptr` is not in a live allocation.
 *  - CUDA_ERROR_ILLEGAL_STATE: a scope is open on this thread. Nothing is discarded.
 *  - An error of the driver: the stream is none. Nothing is discarded. */
VRAMSPAN_API CUresult vramspanMemDiscard(vramspanRuntime runtime, CUdeviceptr ptr, size_t size,
                                         CUstream stream);

/* Fetches the range's chunks if needed, and waits until they are on the device. The pinned chunks
 * stay there until unpinned. Pins are for memory that others reach in other ways (IPC, RDMA,
 * registration). Pins are counted: a chunk stays pinned until each pin is taken back. An error pins
 * nothing:
 *  - CUDA_ERROR_INVALID_VALUE: the range is not in a live allocation.
 *  - CUDA_ERROR_OUT_OF_MEMORY: the budget has no room for the whole range, or too much work is
 *    under way. The message says which.
 *  - CUDA_ERROR_ILLEGAL_STATE: a scope is open on this thread, and nothing has moved so far.
 *  - CUDA_ERROR_TIMEOUT: a thread has been inside a submitting call for 10 s, so the first move
 *    cannot begin. Try again when it has returned. */
VRAMSPAN_API CUresult vramspanMemPin(vramspanRuntime runtime, CUdeviceptr ptr, size_t size);
/* Takes one pin of each chunk back. CUDA_ERROR_INVALID_VALUE if part of the range is not pinned:
 * then nothing changes. */
VRAMSPAN_API CUresult vramspanMemUnpin(vramspanRuntime runtime, CUdeviceptr ptr, size_t size);

/* New budgets, up or down. A lower device budget evicts in the background until it is met. A host
 * budget below what is in use refuses new host memory and moves nothing. Where a broker shares the
 * device out, both are ceilings beside its grants, and take effect soon after the call returns.
 * Where none does, a default device budget changes by what other programs of the user announce. One
 * that is set here does not (docs/budgets.md). */
VRAMSPAN_API CUresult vramspanSetDeviceBudget(vramspanRuntime runtime, size_t bytes);
VRAMSPAN_API CUresult vramspanSetHostBudget(vramspanRuntime runtime, size_t bytes);

/* Sets whether work on another device may touch the runtime's memory. The setting covers all of it,
 * and what is allocated later. cuCtxEnablePeerAccess does not reach this memory.
 *
 * Copies between the devices need the access as well. Without the access, the driver refuses
 * copies of chunks on the device, and crashes in copies of chunks on the host (seen with two
 * H100s). The preload allows the access where a copy needs it.
 *
 * The call makes one driver call per chunk (1.5 ms each on two H200s). Each later move takes as
 * much longer. CUDA_ERROR_INVALID_VALUE for devices that cannot reach this one. If allowing fails,
 * the device has no access. If taking the access back fails, the device may keep some.
 *
 * If launches are traced, the runtime waits for work on other devices. Else memory must be pinned
 * (vramspanMemPin) from before such work is submitted until it has ended. */
VRAMSPAN_API CUresult vramspanSetPeerAccess(vramspanRuntime runtime, CUdevice peer, int allowed);

/* --- State and errors ---------------------------------------------------------------------- */

/* Waits until all declared work so far has run. Waits also until the moves have ended that such
 * work caused or that the program asked for. Returns (and takes) the first error of a background
 * move since errors were last taken. The data are right even then, but memory is not where it
 * should be. The error of a dead context comes back each time. An error inside a scope. */
VRAMSPAN_API CUresult vramspanSynchronize(vramspanRuntime runtime);

/* Returns (and takes) the same error without waiting. CUDA_SUCCESS if there is none. */
VRAMSPAN_API CUresult vramspanTakeBackgroundError(vramspanRuntime runtime);

/* Gives up CUPTI for good, for all runtimes of the process. A profiler that is about to start in
 * the process can then have CUPTI. CUPTI takes one tool at a time, and does not tell the holder
 * that another tool asked. From here on launches are not seen: memory stays where it is, and
 * anybody may touch it (docs/linking.md). Nothing happens if CUPTI is not held. After an error
 * CUPTI is still held:
 *  - CUDA_ERROR_ILLEGAL_STATE: a scope is open on this thread. End it first.
 *  - CUDA_ERROR_TIMEOUT: try again. A traced call has not returned within a second, memory still
 *    moves, or CUPTI refused. The message says which. Unless hooks see the launches, moves may have
 *    stopped for good all the same.
 *  - CUDA_ERROR_NOT_INITIALIZED: this is a child of fork whose parent traces launches. */
VRAMSPAN_API CUresult vramspanReleaseCupti(void);

typedef struct vramspanResidency {
  uint64_t device_bytes; /* Of the range, on the device (pinned included). */
  uint64_t host_bytes;
  uint64_t pinned_bytes;
  uint64_t twin_bytes; /* On the device with an equal host copy. */
} vramspanResidency;
VRAMSPAN_API CUresult vramspanMemResidency(vramspanRuntime runtime, CUdeviceptr ptr, size_t size,
                                           vramspanResidency* residency);

/* The start and size of the live allocation that holds `ptr`. The size is the size asked for. For
 * allocations of at most 1 MiB it is the size set aside. CUDA_ERROR_NOT_FOUND if there is none. */
VRAMSPAN_API CUresult vramspanMemGetAddressRange(vramspanRuntime runtime, CUdeviceptr* base,
                                                 size_t* size, CUdeviceptr ptr);

/* Counters since creation, and current sizes. Set struct_size first. With VRAMSPAN_STATS=- in the
 * environment every runtime shows them at its end, on stderr. VRAMSPAN_STATS=FILE appends them to a
 * file, as a line of JSON if the file's name ends in .json. */
typedef struct vramspanStatistics {
  size_t struct_size;
  uint64_t device_budget, device_used, device_cached;
  uint64_t host_budget, host_used, host_cached;
  uint64_t allocations, allocated_bytes; /* live */
  uint64_t peak_allocated_bytes;
  uint64_t chunks;                     /* live */
  uint64_t works, works_held;          /* declared; of these held by a wait */
  uint64_t works_in_place;             /* released with some memory left on the host */
  uint64_t deadlines;                  /* released by the deadline */
  uint64_t bytes_in, bytes_out;        /* copied to the device, to the host */
  uint64_t bytes_out_clean;            /* evicted without a copy: twin, fresh, empty */
  uint64_t fetches, evictions, remaps; /* chunks; remaps of addresses */
  uint64_t moves_failed;               /* given up after a driver call failed */
  uint64_t hold_ns;                    /* summed over held work: from Begin to release */
  uint64_t copy_in_ns, copy_out_ns;    /* time with a copy of that direction under way */
  uint64_t vmm_ns;                     /* time inside VMM calls of the mover */
  uint64_t unsettled_streams;          /* see vramspanStreamForget */
  /* Of traced work, since memory first ran short. */
  uint64_t launches, copies; /* kernels and graphs; copies and fills */
  uint64_t
      launches_unknown;     /* launches that named no memory of vramspan, and may reach it anyway */
  uint64_t touches;         /* pointers and ranges of vramspan's memory that they named */
  uint64_t bytes_scanned;   /* of parameters and small host copies, for those pointers */
  uint64_t bytes_in_place;  /* served from host memory to launches, copies, fills and declared work,
                               as far as these name it, at most once each */
  uint64_t trials;          /* chunks left on the host once, to see what that costs */
  uint64_t returned;        /* chunks that idle fetches brought back */
  uint64_t forecast_hits;   /* launches that came as the forecast said */
  uint64_t forecast_misses; /* launches that came instead of the forecast one */
  uint64_t stall_drain_ns;  /* time the first held work waited for running work */
  uint64_t stall_copy_ns;   /* time it waited for copies */
  uint64_t stall_vmm_ns;    /* time it waited for remaps */
  uint64_t fetches_unused;  /* of fetches: evicted again before any use (thrash) */
  /* Launches whose parameters may name memory in other forms than pointers (docs/overlap.md). They
   * are looked for where memory may move beside the launch. */
  uint64_t launches_encoded;
  /* Launches by how far the code of their kernels is trusted (docs/overlap.md). */
  uint64_t launches_untried, launches_plausible, launches_proven;
  uint64_t
      launches_known;  /* launches that an earlier one told all about: its parameters are equal */
  uint64_t graphs_cut; /* launches of graphs that were made in segments (docs/graphs.md),    */
  uint64_t segments;   /* and of how many: each counts in `launches` */
  /* A broker that shares the device out (docs/broker-protocol.md). 0: there is none; 1: it is gone,
   * or has not answered yet; 2: this process has its lease; 3: it expects nothing of it any more.
   */
  uint64_t lease_state;
  uint64_t lease_grants, lease_recalls; /* that it sent */
  uint64_t lease_reconnects;            /* connections after the first */
  uint64_t rests; /* how often all was on the device again, so that launches were let pass unseen */
  /* What the thread that moves memory was busy with. Where the sum comes near the time in which
   * memory was short, the program waits for this thread's calls and not for the link. */
  uint64_t mover_decide_ns; /* seeing what has ended, plans and decisions */
  uint64_t mover_begin_ns;  /* beginning moves: memory for them, and the copy's call */
  uint64_t mover_remap_ns;  /* ends of moves: remaps, and memory given back */
  uint64_t mover_map_ns;    /* mapping chunks on the host, which work may touch there */
} vramspanStatistics;
VRAMSPAN_API CUresult vramspanGetStatistics(vramspanRuntime runtime, vramspanStatistics* out);

/* The sentence for the calling thread's last failed vramspan call; "" if none. Valid until that
 * thread's next failure. */
VRAMSPAN_API const char* vramspanLastErrorMessage(void);

/* The library's version as text: "MAJOR.MINOR.PATCH". */
VRAMSPAN_API const char* vramspanVersion(void);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* VRAMSPAN_VRAMSPAN_H_ */
