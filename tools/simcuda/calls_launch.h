#ifndef VRAMSPAN_TOOLS_SIMCUDA_CALLS_LAUNCH_H_
#define VRAMSPAN_TOOLS_SIMCUDA_CALLS_LAUNCH_H_

// Kernel launches: what cuda.h says of the cu* calls of the same names.

#include <cuda.h>

namespace simcuda::calls {

CUresult LaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                      unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                      CUstream stream, void** params, void** extra);
CUresult LaunchKernelEx(const CUlaunchConfig* config, CUfunction function, void** params,
                        void** extra);
CUresult LaunchCooperativeKernel(CUfunction function, unsigned grid_x, unsigned grid_y,
                                 unsigned grid_z, unsigned block_x, unsigned block_y,
                                 unsigned block_z, unsigned shared_bytes, CUstream stream,
                                 void** params);

}  // namespace simcuda::calls

#endif  // VRAMSPAN_TOOLS_SIMCUDA_CALLS_LAUNCH_H_
