#ifndef VRAMSPAN_TOOLS_SIMCUDA_SHARED_PROCESS_NAME_H_
#define VRAMSPAN_TOOLS_SIMCUDA_SHARED_PROCESS_NAME_H_

// A process by its id and the time when it started, in one word: ids come again, both together do
// not. Processes of one PID namespace know each other so. No lock, no allocation.

#include <cstdint>

namespace simcuda::shared {

// 0 is nobody; the top bit is free for others' use.
using ProcessName = uint64_t;

ProcessName OwnName();
int PidOf(ProcessName name);
// False once its last thread is gone, whether anybody has waited for it or not. Where the system
// does not say it lives.
bool Lives(ProcessName name);

}  // namespace simcuda::shared

#endif  // VRAMSPAN_TOOLS_SIMCUDA_SHARED_PROCESS_NAME_H_
