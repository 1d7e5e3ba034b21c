#ifndef VRAMSPAN_TOOLS_SIMCUDA_CALLS_OBJECT_H_
#define VRAMSPAN_TOOLS_SIMCUDA_CALLS_OBJECT_H_

// Objects that stand for memory in a launch's parameters: texture objects over linear memory and
// arrays, surface objects over arrays, and tensor maps. Functions behind rows of entries_core.inc.

#include <cuda.h>

namespace simcuda::calls {

// CUDA_ERROR_NOT_SUPPORTED for arrays of layers and of levels, and for what needs a texture unit:
// filters, normalised coordinates, integers that are read as fractions.
CUresult TexObjectCreate(CUtexObject* object, const CUDA_RESOURCE_DESC* resource,
                         const CUDA_TEXTURE_DESC* texture, const CUDA_RESOURCE_VIEW_DESC* view);
CUresult TexObjectDestroy(CUtexObject object);
CUresult TexObjectGetResourceDesc(CUDA_RESOURCE_DESC* resource, CUtexObject object);
CUresult TexObjectGetTextureDesc(CUDA_TEXTURE_DESC* texture, CUtexObject object);
CUresult TexObjectGetResourceViewDesc(CUDA_RESOURCE_VIEW_DESC* view, CUtexObject object);

// CUDA_ERROR_NOT_SUPPORTED for arrays of layers.
CUresult SurfObjectCreate(CUsurfObject* object, const CUDA_RESOURCE_DESC* resource);
CUresult SurfObjectDestroy(CUsurfObject object);
CUresult SurfObjectGetResourceDesc(CUDA_RESOURCE_DESC* resource, CUsurfObject object);

// CUDA_ERROR_NOT_SUPPORTED for elements that are no whole bytes, and for interleaved layouts.
CUresult TensorMapEncodeTiled(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank,
                              void* address, const cuuint64_t* lengths, const cuuint64_t* strides,
                              const cuuint32_t* box, const cuuint32_t* steps,
                              CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                              CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill);
CUresult TensorMapReplaceAddress(CUtensorMap* map, void* address);

}  // namespace simcuda::calls

#endif  // VRAMSPAN_TOOLS_SIMCUDA_CALLS_OBJECT_H_
