#ifndef VRAMSPAN_TOOLS_SIMCUDA_FAULT_H_
#define VRAMSPAN_TOOLS_SIMCUDA_FAULT_H_

// Memory faults of simulated GPU work. SIGSEGV and SIGBUS inside a guarded call end that call; on
// any other thread, and in unguarded code, the handler that was installed before runs.

#include <cuda.h>
#include <setjmp.h>

#include "tools/simcuda/op.h"

namespace simcuda {

// Once a process; later calls do nothing. The previous handlers are kept.
void InstallFaultHandler();

// op.Run, or CUDA_ERROR_ILLEGAL_ADDRESS when it faulted. Frames in between are dropped without
// destructors.
CUresult RunGuarded(const Op& op, const Exec& exec);

// Reads a 64-bit (wide) or 32-bit word; false when it faults.
bool ReadWordGuarded(CUdeviceptr address, bool wide, uint64_t* value);

// Lifts the guard of the calling thread while it runs the program's own code (host functions): a
// fault there is the program's.
class FaultGuardPause {
 public:
  FaultGuardPause();
  ~FaultGuardPause();
  FaultGuardPause(const FaultGuardPause&) = delete;
  FaultGuardPause& operator=(const FaultGuardPause&) = delete;

 private:
  sigjmp_buf* const saved_;
};

}  // namespace simcuda

#endif  // VRAMSPAN_TOOLS_SIMCUDA_FAULT_H_
