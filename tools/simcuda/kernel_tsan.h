// What ThreadSanitizer needs to follow a kernel that spins on a volatile.
//
// Kernel images are compiled with --param tsan-distinguish-volatile=1, which turns every volatile
// access into one of the calls below. Reading one acquires and writing one releases, so a flag
// hands over the data before it, as it does on the device with a fence. Included by kernel.h only.

#ifndef VRAMSPAN_TOOLS_SIMCUDA_KERNEL_TSAN_H_
#define VRAMSPAN_TOOLS_SIMCUDA_KERNEL_TSAN_H_

#include <sanitizer/tsan_interface.h>

#define SIMCUDA_TSAN_VOLATILE(size)                                                                \
  extern "C" __attribute__((weak, visibility("hidden"),                                            \
                            no_sanitize_thread)) void __tsan_volatile_read##size(void* address) {  \
    __tsan_acquire(address);                                                                       \
  }                                                                                                \
  extern "C" __attribute__((weak, visibility("hidden"),                                            \
                            no_sanitize_thread)) void __tsan_volatile_write##size(void* address) { \
    __tsan_release(address);                                                                       \
  }
SIMCUDA_TSAN_VOLATILE(1)
SIMCUDA_TSAN_VOLATILE(2)
SIMCUDA_TSAN_VOLATILE(4)
SIMCUDA_TSAN_VOLATILE(8)
SIMCUDA_TSAN_VOLATILE(16)
#undef SIMCUDA_TSAN_VOLATILE

#endif  // VRAMSPAN_TOOLS_SIMCUDA_KERNEL_TSAN_H_
