#ifndef VRAMSPAN_TOOLS_SIMCUDA_MODULES_OCCUPANCY_H_
#define VRAMSPAN_TOOLS_SIMCUDA_MODULES_OCCUPANCY_H_

// How many blocks of a kernel the simulated device would run at once.

#include <cstddef>

namespace simcuda {

// Blocks per multiprocessor; 0 where not even one fits.
int ActiveBlocks(int block_threads, size_t dynamic_shared);

}  // namespace simcuda

#endif  // VRAMSPAN_TOOLS_SIMCUDA_MODULES_OCCUPANCY_H_
