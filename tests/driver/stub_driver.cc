// A library that looks like a CUDA driver to dlopen and does next to nothing: for the loader's
// error paths, and where a call must be refused on command. Variants are built with STUB_VERSION
// and STUB_INIT_RESULT, what cuDriverGetVersion and cuInit answer.
//
// Without cuda.h, whose declarations would not let stub_unsupported.cc define functions without
// arguments.
#include <cstddef>

#include "tests/driver/stub_state.h"

#ifndef STUB_VERSION
#define STUB_VERSION 13000
#endif
#ifndef STUB_INIT_RESULT
#define STUB_INIT_RESULT 0
#endif

#define STUB_EXPORT extern "C" __attribute__((visibility("default")))

namespace {

constexpr int kOutOfMemory = 2;

vramspan::StubState state;

}  // namespace

STUB_EXPORT vramspan::StubState* stub_state() { return &state; }

STUB_EXPORT int cuInit(unsigned) { return STUB_INIT_RESULT; }

STUB_EXPORT int cuDriverGetVersion(int* version) {
  *version = STUB_VERSION;
  return 0;
}

STUB_EXPORT int cuMemAddressReserve(uint64_t* p, size_t size, size_t, uint64_t wanted, uint64_t) {
  ++state.reserve_calls;
  if (state.reserve_result != 0) return state.reserve_result;
  if (size > state.reserve_limit) return kOutOfMemory;
  state.reserved += size;
  *p = wanted != 0 && state.grants_addresses ? wanted : state.reserve_base;
  return 0;
}

STUB_EXPORT int cuMemAddressFree(uint64_t, size_t size) {
  state.reserved -= size;
  return 0;
}

STUB_EXPORT int cuCtxPushCurrent_v2(void*) {
  if (state.push_result == 0) ++state.contexts;
  return state.push_result;
}

STUB_EXPORT int cuCtxPopCurrent_v2(void** context) {
  *context = nullptr;
  --state.contexts;
  return 0;
}

STUB_EXPORT int cuThreadExchangeStreamCaptureMode(int* mode) {
  if (state.exchange_result != 0) return state.exchange_result;
  const int before = state.capture_mode;
  state.capture_mode = *mode;
  *mode = before;
  return 0;
}
