// Whether a stream captures what is submitted to it: none of that happens in the stream itself.
#ifndef VRAMSPAN_RUNTIME_PRELOAD_CAPTURES_H_
#define VRAMSPAN_RUNTIME_PRELOAD_CAPTURES_H_

#include "runtime/base/own_calls.h"
#include "runtime/preload/cuda_api.h"
#include "runtime/preload/resolver.h"

namespace vramspan::preload {

// Also where the driver does not tell. Spoils no capture.
inline bool Captures(CUstream stream) {
  static const auto get = DriverFunction<decltype(&::cuStreamIsCapturing)>("cuStreamIsCapturing");
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  const OwnCalls own;
  return get == nullptr || get(stream, &status) != CUDA_SUCCESS ||
         status != CU_STREAM_CAPTURE_STATUS_NONE;
}

}  // namespace vramspan::preload

#endif  // VRAMSPAN_RUNTIME_PRELOAD_CAPTURES_H_
