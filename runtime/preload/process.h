// The life of CUDA in this process, as far as hooks depend on it.
//
// Nothing is done before the program's own cuInit has succeeded. CUDA does not survive a fork, and
// neither does what vramspan made before it: where the parent's cuInit had succeeded, a child
// passes everything through for good, and the driver refuses it. Other children start over.
//
// Threads: any.
#ifndef VRAMSPAN_RUNTIME_PRELOAD_PROCESS_H_
#define VRAMSPAN_RUNTIME_PRELOAD_PROCESS_H_

#include <atomic>

#include "runtime/base/own_process.h"
#include "runtime/preload/cuda_api.h"

namespace vramspan::preload {

// VRAMSPAN_OFF, or TurnOff was called: this library is as good as not there.
bool Off();
// For as long as the process lives; the statistics say why. What was looked up before stays hooked.
void TurnOff(const char* why);
// VRAMSPAN_QUIET: nothing is announced. What keeps vramspan from working is said all the same.
bool Quiet();

// Where cuInit has succeeded.
inline constinit std::atomic<OwnProcess> ready_in{OwnProcess()};

// In this process, and hooks may do their work.
inline bool Ready() { return ready_in.load(std::memory_order_acquire).Here(); }
// In a parent of it, and hooks may not touch what they find.
inline bool Inherited() {
  const OwnProcess process = ready_in.load(std::memory_order_relaxed);
  return !process.None() && !process.Here();
}

// Hook.
CUresult Init(decltype(&::cuInit) real, unsigned flags);

}  // namespace vramspan::preload

#endif  // VRAMSPAN_RUNTIME_PRELOAD_PROCESS_H_
