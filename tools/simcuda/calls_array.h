#ifndef VRAMSPAN_TOOLS_SIMCUDA_CALLS_ARRAY_H_
#define VRAMSPAN_TOOLS_SIMCUDA_CALLS_ARRAY_H_

// Arrays: functions behind rows of entries_core.inc.

#include <cuda.h>

namespace simcuda::calls {

CUresult ArrayCreate(CUarray* array, const CUDA_ARRAY_DESCRIPTOR* descriptor);
CUresult Array3DCreate(CUarray* array, const CUDA_ARRAY3D_DESCRIPTOR* descriptor);
CUresult ArrayGetDescriptor(CUDA_ARRAY_DESCRIPTOR* descriptor, CUarray array);
CUresult Array3DGetDescriptor(CUDA_ARRAY3D_DESCRIPTOR* descriptor, CUarray array);
CUresult ArrayDestroy(CUarray array);

CUresult MipmappedArrayCreate(CUmipmappedArray* array, const CUDA_ARRAY3D_DESCRIPTOR* descriptor,
                              unsigned levels);
CUresult MipmappedArrayGetLevel(CUarray* level, CUmipmappedArray array, unsigned number);
CUresult MipmappedArrayDestroy(CUmipmappedArray array);

}  // namespace simcuda::calls

#endif  // VRAMSPAN_TOOLS_SIMCUDA_CALLS_ARRAY_H_
