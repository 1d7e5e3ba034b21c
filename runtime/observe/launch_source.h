// Between those who see the program's calls (the CUPTI tracer, the hooks of a preload) and the
// runtime. Plain C, since a source may be a library of its own that shares no types with us.
//
// A call is told by CUPTI's number for it and CUPTI's struct of its parameters, whatever the source
// is. Threads: `enter` and `exit` run on the program's thread, inside its call.
#ifndef VRAMSPAN_RUNTIME_OBSERVE_LAUNCH_SOURCE_H_
#define VRAMSPAN_RUNTIME_OBSERVE_LAUNCH_SOURCE_H_

#include <cuda.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define VRAMSPAN_LAUNCH_SOURCE_VERSION 2u

// What the runtime offers to a source. Lives as long as the process.
typedef struct vramspanLaunchSink {
  uint32_t version;       // VRAMSPAN_LAUNCH_SOURCE_VERSION
  uint32_t count;         // The calls to watch: all of `calls`, and no others.
  const uint32_t* calls;  // CUpti_driver_api_trace_cbid
  // Before and after the driver's function. `context` is current in the call; `token`, 0 before the
  // call, is handed from the one to the other.
  void (*enter)(uint32_t call, const void* params, CUcontext context, uint64_t* token);
  void (*exit)(uint32_t call, const void* params, CUresult result, uint64_t token);
  // The source sees nothing any more; why, as a sentence. Any thread, at most once.
  void (*lost)(const char* why);
} vramspanLaunchSink;

// What a source's library exports under the name vramspanLaunchSourceStart: starts to watch.
// `library` is where to look for CUPTI first, or null. Returns 0, or writes into `error` (of `size`
// bytes) a sentence that says why not.
typedef int (*vramspanLaunchSourceStart_t)(const vramspanLaunchSink* sink, const char* library,
                                           char* error, size_t size);
#define VRAMSPAN_LAUNCH_SOURCE_START "vramspanLaunchSourceStart"

// Of a source that holds what others may want (CUPTI), under the name vramspanLaunchSourceStop:
// ends to watch for good, so that others can have it. Calls that were entered have exited when it
// returns, and none is told of afterwards. Returns 0, or, where a call does not come back within a
// second, 1 with a sentence in `error`, and watches on. Not from inside a watched call.
typedef int (*vramspanLaunchSourceStop_t)(char* error, size_t size);
#define VRAMSPAN_LAUNCH_SOURCE_STOP "vramspanLaunchSourceStop"

#ifdef __cplusplus
}
#endif

#endif  // VRAMSPAN_RUNTIME_OBSERVE_LAUNCH_SOURCE_H_
