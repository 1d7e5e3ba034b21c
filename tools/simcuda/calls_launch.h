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
// Cannot be captured. One kernel a device, which begin together and end together.
CUresult LaunchCooperativeKernelMultiDevice(CUDA_LAUNCH_PARAMS* list, unsigned devices,
                                            unsigned flags);

// From before cuLaunchKernel: shape and parameters are set first, the launch takes what is there.
CUresult FuncSetBlockShape(CUfunction function, int x, int y, int z);
CUresult FuncSetSharedSize(CUfunction function, unsigned bytes);
CUresult ParamSetSize(CUfunction function, unsigned bytes);
CUresult ParamSeti(CUfunction function, int offset, unsigned value);
CUresult ParamSetf(CUfunction function, int offset, float value);
CUresult ParamSetv(CUfunction function, int offset, void* value, unsigned bytes);
CUresult LaunchOneBlock(CUfunction function);
CUresult LaunchGrid(CUfunction function, int width, int height);
CUresult LaunchGridAsync(CUfunction function, int width, int height, CUstream stream);

}  // namespace simcuda::calls

#endif  // VRAMSPAN_TOOLS_SIMCUDA_CALLS_LAUNCH_H_
