#ifndef VRAMSPAN_TOOLS_SIMCUDA_MEMORY_EXTERNAL_H_
#define VRAMSPAN_TOOLS_SIMCUDA_MEMORY_EXTERNAL_H_

// Memory that a context took over from others, by a file descriptor. Here the others are
// cuMemExportToShareableHandle's, of this process or another; a GPU's driver takes what Vulkan and
// its like export. Thread-safe.

#include <cuda.h>

#include <cstddef>
#include <cstdint>

#include "tools/simcuda/context.h"
#include "tools/simcuda/handle_table.h"
#include "tools/simcuda/memory/physical.h"

namespace simcuda::memory {

struct ExternalMemory {
  PhysicalPtr memory;
  size_t size = 0;
  uint64_t context_id = 0;
};

HandleTable<CUexternalMemory, const ExternalMemory>& ExternalMemories();
void ForgetExternalMemory(const Context& context);

}  // namespace simcuda::memory

#endif  // VRAMSPAN_TOOLS_SIMCUDA_MEMORY_EXTERNAL_H_
