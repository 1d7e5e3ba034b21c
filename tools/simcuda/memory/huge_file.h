#ifndef VRAMSPAN_TOOLS_SIMCUDA_MEMORY_HUGE_FILE_H_
#define VRAMSPAN_TOOLS_SIMCUDA_MEMORY_HUGE_FILE_H_

#include <string>

namespace simcuda::memory {

// A file in memory, as CreateMemoryFile's (pages.h), whose pages are of 2 MiB where the system has
// such, and where this process may have one (CAP_SYS_ADMIN, Linux 5.2); else -1.
//
// Memory that moves is mapped again and again. Some hypervisors follow page tables in software.
// There the first touch of each page behind a new mapping is slow, and few pages are few touches.
int CreateHugeFile(const std::string& label);

}  // namespace simcuda::memory

#endif  // VRAMSPAN_TOOLS_SIMCUDA_MEMORY_HUGE_FILE_H_
