#ifndef VRAMSPAN_TOOLS_SIMCUDA_DRIVER_THREAD_H_
#define VRAMSPAN_TOOLS_SIMCUDA_DRIVER_THREAD_H_

#include <functional>

namespace simcuda {

// Starts a thread of the driver's, which ends by itself. It takes none of the program's signals,
// but for the faults of the work that it runs (fault.h). Throws std::system_error where none can be
// had.
void StartDriverThread(const char* name, std::function<void()> body);

}  // namespace simcuda

#endif  // VRAMSPAN_TOOLS_SIMCUDA_DRIVER_THREAD_H_
