#ifndef VRAMSPAN_TOOLS_SIMCUDA_THREAD_H_
#define VRAMSPAN_TOOLS_SIMCUDA_THREAD_H_

// What the driver keeps per thread of the program, and the lookups that depend on it.

#include <cuda.h>

#include <cstdint>
#include <vector>

#include "tools/simcuda/context.h"
#include "tools/simcuda/event.h"
#include "tools/simcuda/stream.h"

namespace simcuda {

struct Thread {
  const uint64_t id;
  std::vector<ContextPtr> contexts;  // the stack; its back is current
  bool per_thread_default = false;   // inside a _ptsz or _ptds entry point
  bool in_callback = false;          // inside a host function: no driver call is permitted
  CUstreamCaptureMode capture_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;

  static Thread& Self();
};

// The calling thread's current context, null when it has none.
ContextPtr CurrentContext();

// A stream argument: 0 is the legacy or the per-thread stream of the current context, by the entry
// point that was called; CU_STREAM_LEGACY and CU_STREAM_PER_THREAD likewise.
// CUDA_ERROR_INVALID_HANDLE (counted as stale) for destroyed streams, CUDA_ERROR_INVALID_CONTEXT
// without a current context.
CUresult FindStream(CUstream handle, StreamPtr* stream);

CUresult FindEvent(CUevent handle, EventPtr* event);

}  // namespace simcuda

#endif  // VRAMSPAN_TOOLS_SIMCUDA_THREAD_H_
