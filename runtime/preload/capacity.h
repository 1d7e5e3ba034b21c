// How much memory a program is told that it has: VRAMSPAN_REPORT (docs/preload.md).
//
//   device   as without vramspan: the device, less what the program would take of it (default)
//   budget   a device as large as the device budget
//   total    the device budget and the host budget together
//
// Free memory never exceeds the total, and falls and rises by what the program allocates and frees,
// not by what is moved, cached or kept ready. Threads: any.
#ifndef VRAMSPAN_RUNTIME_PRELOAD_CAPACITY_H_
#define VRAMSPAN_RUNTIME_PRELOAD_CAPACITY_H_

#include <cstdint>

#include "runtime/preload/cuda_api.h"

namespace vramspan::preload {

struct Capacity {
  uint64_t free = 0, total = 0;
};

// What to say of a device for which `ask` (bool(Capacity*): the driver, NVML) says how much it has;
// what it says itself where there is no runtime. False when it failed.
template <typename Ask>
bool ReportedCapacity(CUdevice device, Ask ask, Capacity* capacity);

// The device's total, for which the driver says `total`.
uint64_t ReportedTotal(CUdevice device, uint64_t total);

// Whether programs are told of the device itself, so that numbers need no runtime.
bool ReportsDevice();

// Whether a broker may have a limit for this process. Looked for once.
bool BrokerMayBe();

// Device memory that the runtime of the device has from the driver, the mover's own context
// included; 0 where there is none.
uint64_t HeldByRuntime(CUdevice device);
// `driver` as the program is to see it, when the runtime held so much.
Capacity Reported(CUdevice device, Capacity driver, uint64_t held);

template <typename Ask>
bool ReportedCapacity(CUdevice device, Ask ask, Capacity* capacity) {
  // What the runtime takes or gives back in between must not count twice.
  constexpr int kTries = 4;
  for (int i = 0;; ++i) {
    const uint64_t before = HeldByRuntime(device);
    if (!ask(capacity)) return false;
    const uint64_t after = HeldByRuntime(device);
    if (before != after && i < kTries) continue;
    *capacity = Reported(device, *capacity, before < after ? before : after);
    return true;
  }
}

}  // namespace vramspan::preload

#endif  // VRAMSPAN_RUNTIME_PRELOAD_CAPACITY_H_
