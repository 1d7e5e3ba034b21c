#ifndef VRAMSPAN_TOOLS_SIMCUDA_CALLS_KERNELS_H_
#define VRAMSPAN_TOOLS_SIMCUDA_CALLS_KERNELS_H_

// The functions behind the rows of entries_kernels.inc.

#include <cuda.h>

namespace simcuda::calls {}  // namespace simcuda::calls

#endif  // VRAMSPAN_TOOLS_SIMCUDA_CALLS_KERNELS_H_
