// While it lives, what the thread asks of the driver spoils no capture: neither its own, which may
// go on in another stream, nor another thread's.
#ifndef VRAMSPAN_RUNTIME_PRELOAD_BESIDE_CAPTURES_H_
#define VRAMSPAN_RUNTIME_PRELOAD_BESIDE_CAPTURES_H_

#include "runtime/preload/resolver.h"

namespace vramspan::preload {

class BesideCaptures {
 public:
  using Exchange = decltype(&::cuThreadExchangeStreamCaptureMode);
  static Exchange Call() {
    static const auto call = DriverFunction<Exchange>("cuThreadExchangeStreamCaptureMode");
    return call;
  }

  // REQUIRES: the driver has the call.
  BesideCaptures() { Call()(&mode_); }
  ~BesideCaptures() { Call()(&mode_); }
  BesideCaptures(const BesideCaptures&) = delete;
  BesideCaptures& operator=(const BesideCaptures&) = delete;

 private:
  CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;
};

}  // namespace vramspan::preload

#endif  // VRAMSPAN_RUNTIME_PRELOAD_BESIDE_CAPTURES_H_
