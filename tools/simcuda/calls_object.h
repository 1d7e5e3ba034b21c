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
// As the tiled one. They say how an image is walked; loads of host kernels do not depend on it.
CUresult TensorMapEncodeIm2col(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank,
                               void* address, const cuuint64_t* lengths, const cuuint64_t* strides,
                               const int* lower, const int* upper, cuuint32_t channels,
                               cuuint32_t pixels, const cuuint32_t* steps,
                               CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                               CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill);
// CUDA_ERROR_NOT_SUPPORTED before compute capability 10.0.
CUresult TensorMapEncodeIm2colWide(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank,
                                   void* address, const cuuint64_t* lengths,
                                   const cuuint64_t* strides, int lower, int upper,
                                   cuuint32_t channels, cuuint32_t pixels, const cuuint32_t* steps,
                                   CUtensorMapInterleave interleave, CUtensorMapIm2ColWideMode mode,
                                   CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion,
                                   CUtensorMapFloatOOBfill fill);
CUresult TensorMapReplaceAddress(CUtensorMap* map, void* address);

// Texture references of the program's own: what is set can be asked for, and no kernel reads by
// them, for no module has one (CUDA 12 took them out of the language).
CUresult TexRefCreate(CUtexref* reference);
CUresult TexRefDestroy(CUtexref reference);
CUresult TexRefSetFormat(CUtexref reference, CUarray_format format, int channels);
CUresult TexRefGetFormat(CUarray_format* format, int* channels, CUtexref reference);
CUresult TexRefSetAddress(size_t* offset, CUtexref reference, CUdeviceptr address, size_t bytes);
CUresult TexRefSetAddress2D(CUtexref reference, const CUDA_ARRAY_DESCRIPTOR* descriptor,
                            CUdeviceptr address, size_t pitch);
CUresult TexRefGetAddress(CUdeviceptr* address, CUtexref reference);

}  // namespace simcuda::calls

#endif  // VRAMSPAN_TOOLS_SIMCUDA_CALLS_OBJECT_H_
