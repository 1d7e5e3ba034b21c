// Sentences about what a replay found, for people.
#ifndef VRAMSPAN_TOOLS_REPLAY_EXPLAIN_H_
#define VRAMSPAN_TOOLS_REPLAY_EXPLAIN_H_

#include <string>

#include "tools/replay/recorded_run.h"
#include "tools/replay/replay_result.h"

namespace vramspan::replay {

// Why the kernel takes as long as it does in this replay, and what might change that.
std::string WhyKernel(const RecordedRun& run, const ReplayResult& result,
                      const KernelResult& kernel);

// A kernel's name without its parameters and of a length to read: demangled where it is mangled.
std::string KernelName(const RecordedCode& code);

// The allocation's name, or its address, with its number.
std::string AllocationName(const RecordedRun& run, uint32_t allocation);

}  // namespace vramspan::replay

#endif  // VRAMSPAN_TOOLS_REPLAY_EXPLAIN_H_
