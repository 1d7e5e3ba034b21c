// Every function of the runtime's table as CUDA_ERROR_NOT_SUPPORTED, weak, so that those of
// stub_driver.cc win. A variant that lacks a function is built with that name defined as another.
#include "runtime/driver/calls.h"

#define STUB_WEAK(field, symbol) \
  extern "C" __attribute__((weak, visibility("default"))) int symbol() { return 801; }
VRAMSPAN_DRIVER_CALLS(STUB_WEAK)
