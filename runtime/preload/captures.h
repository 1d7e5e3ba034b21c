// Captures: what is submitted to a stream that captures does not happen in the stream itself.
#ifndef VRAMSPAN_RUNTIME_PRELOAD_CAPTURES_H_
#define VRAMSPAN_RUNTIME_PRELOAD_CAPTURES_H_

#include "runtime/base/own_calls.h"
#include "runtime/observe/captures.h"
#include "runtime/preload/cuda_api.h"
#include "runtime/preload/resolver.h"

namespace vramspan::preload {

// Whether the stream captures. Also where the driver does not tell. Spoils no capture.
inline bool Captures(CUstream stream) {
  static const auto get = DriverFunction<decltype(&::cuStreamIsCapturing)>("cuStreamIsCapturing");
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  const OwnCalls own;
  return get == nullptr || get(stream, &status) != CUDA_SUCCESS ||
         status != CU_STREAM_CAPTURE_STATUS_NONE;
}

// Hooks of the calls that begin captures and end them; the stream comes first.
template <typename Function>
struct CaptureHooks;
template <typename... Args>
struct CaptureHooks<CUresult (*)(CUstream, Args...)> {
  static CUresult Begins(CUresult (*real)(CUstream, Args...), CUstream stream, Args... args) {
    // Before: another thread may use the stream as soon as it captures.
    CaptureBegins();
    const CUresult result = real(stream, args...);
    if (result != CUDA_SUCCESS) CaptureEnded();
    return result;
  }
  static CUresult Ends(CUresult (*real)(CUstream, Args...), CUstream stream, Args... args) {
    // What is answered for a stream that does not capture ends no other's.
    const bool captured = Captures(stream);
    const CUresult result = real(stream, args...);
    if (captured && (result == CUDA_SUCCESS || !Captures(stream))) CaptureEnded();
    return result;
  }
};
#define VS_CAPTURE_BEGINS(symbol) CaptureHooks<decltype(&::symbol)>::Begins
#define VS_CAPTURE_ENDS(symbol) CaptureHooks<decltype(&::symbol)>::Ends

}  // namespace vramspan::preload

#endif  // VRAMSPAN_RUNTIME_PRELOAD_CAPTURES_H_
