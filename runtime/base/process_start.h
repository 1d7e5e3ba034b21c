// When a process began, so that nobody takes another for it that got its number later.
#ifndef VRAMSPAN_RUNTIME_BASE_PROCESS_START_H_
#define VRAMSPAN_RUNTIME_BASE_PROCESS_START_H_

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string_view>

namespace vramspan {

// In the kernel's ticks since the machine started. Nothing where there is no such process, where it
// has ended and was not waited for, or where /proc does not say.
std::optional<uint64_t> ProcessStart(pid_t pid);
// Of the text of /proc/PID/stat. The name in it is the process's own choice.
std::optional<uint64_t> StartInStat(std::string_view stat);
// The namespace of process numbers that this process sees; 0 where it is not known.
uint64_t ProcessNumberSpace();

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_BASE_PROCESS_START_H_
