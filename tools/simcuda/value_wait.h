#ifndef VRAMSPAN_TOOLS_SIMCUDA_VALUE_WAIT_H_
#define VRAMSPAN_TOOLS_SIMCUDA_VALUE_WAIT_H_

// Waits on memory words (cuStreamWaitValue32/64). Nobody tells a CPU that a word has changed, so
// somebody must look; one thread looks for all parked queues of the process, every 8 to 50 µs,
// while the workers sleep.

#include <cuda.h>

#include <cstdint>

#include "tools/simcuda/op.h"

namespace simcuda {

struct ValueWait {
  CUdeviceptr address;
  bool wide;       // 64 bits
  unsigned flags;  // CUstreamWaitValue_flags
  uint64_t value;
};

bool Satisfied(const ValueWait& wait, uint64_t current);

// Returns when the word satisfies the wait or exec.Abandoned(). Runs under the op's fault guard: a
// word that cannot be read ends the op.
void AwaitValue(const Exec& exec, const ValueWait& wait);

// Looks at all waited-for words at once: call after a write that a wait may be for.
void ValueMayHaveChanged();

}  // namespace simcuda

#endif  // VRAMSPAN_TOOLS_SIMCUDA_VALUE_WAIT_H_
