// The calls of include/vramspan/process.h, on a runtime that was found for them; null where there
// is none. Whoever found it says how long it stays. No exception leaves them.
#ifndef VRAMSPAN_RUNTIME_API_FOUND_RUNTIME_H_
#define VRAMSPAN_RUNTIME_API_FOUND_RUNTIME_H_

#include "include/vramspan/vramspan.h"
#include "runtime/api/runtime.h"

namespace vramspan {

// The caller's structure may be of another version: then nothing is written.
Status CopyStatistics(Runtime& runtime, vramspanStatistics* out);
// By reference: a caller in C may pass what is no vramspanLocation (check_enum.h).
Status Prefetch(Runtime& runtime, CUdeviceptr ptr, size_t size, const vramspanLocation& to,
                CUstream stream);
// Nothing in a stream that captures: what it captured comes later.
Status Discard(Runtime& runtime, CUdeviceptr ptr, size_t size, CUstream stream);

CUresult StatisticsOfFound(Runtime* runtime, int device, vramspanStatistics* out);
CUresult PinInFound(Runtime* runtime, CUdeviceptr ptr, size_t size);
CUresult UnpinInFound(Runtime* runtime, CUdeviceptr ptr, size_t size);
CUresult PrefetchInFound(Runtime* runtime, CUdeviceptr ptr, size_t size, const vramspanLocation& to,
                         CUstream stream);
CUresult DiscardInFound(Runtime* runtime, CUdeviceptr ptr, size_t size, CUstream stream);

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_API_FOUND_RUNTIME_H_
