// What a test tells the stub driver and reads from it; one in each loaded stub.
#ifndef VRAMSPAN_TESTS_DRIVER_STUB_STATE_H_
#define VRAMSPAN_TESTS_DRIVER_STUB_STATE_H_

#include <cstdint>

namespace vramspan {

struct StubState {
  uint64_t reserve_limit = ~uint64_t{0};  // Larger reservations are out of memory.
  int reserve_result = 0;                 // What every reservation answers, unless 0.
  int reserve_calls = 0;
  uint64_t reserve_base = 0x700000000000;  // Where reservations start,
  bool grants_addresses = true;            // unless they ask for an address and get it.
  uint64_t reserved = 0;                   // Bytes not given back yet.
  int push_result = 0;                     // What cuCtxPushCurrent answers.
  int exchange_result = 0;                 // What cuThreadExchangeStreamCaptureMode answers.
  int contexts = 0;                        // Pushed and not popped.
  int capture_mode = 0;
};

}  // namespace vramspan

#endif  // VRAMSPAN_TESTS_DRIVER_STUB_STATE_H_
