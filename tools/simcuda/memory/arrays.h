#ifndef VRAMSPAN_TOOLS_SIMCUDA_MEMORY_ARRAYS_H_
#define VRAMSPAN_TOOLS_SIMCUDA_MEMORY_ARRAYS_H_

// CUDA arrays: device memory of a context that programs reach by copies, textures and surfaces, but
// by no address of their own. Here it lies row behind row without gaps. Thread-safe. The checks of
// captures, and the waiting when one is destroyed, are the callers'.

#include <cuda.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "tools/simcuda/context.h"
#include "tools/simcuda/memory/address_map.h"

namespace simcuda::memory {

// Bytes of one channel; 0 for formats that are none of plain numbers.
uint32_t ChannelBytes(CUarray_format format);

// One array, or one level of a mipmapped one.
struct Array {
  CUDA_ARRAY3D_DESCRIPTOR descriptor = {};
  char* data = nullptr;
  RangePtr range;         // The memory, that of all levels.
  bool is_level = false;  // Then it goes with its mipmapped array only.

  size_t element_bytes() const { return ChannelBytes(descriptor.Format) * descriptor.NumChannels; }
  size_t row_bytes() const { return descriptor.Width * element_bytes(); }
  size_t rows() const { return descriptor.Height != 0 ? descriptor.Height : 1; }
  size_t plane_bytes() const { return row_bytes() * rows(); }
  size_t planes() const { return descriptor.Depth != 0 ? descriptor.Depth : 1; }
  size_t bytes() const { return plane_bytes() * planes(); }
};
using ArrayPtr = std::shared_ptr<const Array>;

struct MipmappedArray {
  RangePtr range;
  std::vector<CUarray> levels;
};
using MipmappedArrayPtr = std::shared_ptr<const MipmappedArray>;

// CUDA_ERROR_INVALID_VALUE for a shape that there is not, CUDA_ERROR_NOT_SUPPORTED for what
// simcuda's arrays cannot be: sparse, mapped later, of compressed or planar formats.
CUresult CreateArray(Context& context, const CUDA_ARRAY3D_DESCRIPTOR& descriptor, CUarray* handle);
// Levels beyond the last one of a single element are left out, as is 0.
CUresult CreateMipmappedArray(Context& context, const CUDA_ARRAY3D_DESCRIPTOR& descriptor,
                              unsigned levels, CUmipmappedArray* handle);

// Null, and counted as stale, where there is none, or its context took it along.
ArrayPtr FindArray(CUarray handle);
MipmappedArrayPtr FindMipmappedArray(CUmipmappedArray handle);
// The array that the address lies in; null where it lies in none.
ArrayPtr FindArrayAt(const void* address, CUarray* handle);

// Forget the handles; the memory stays the caller's to free.
void ForgetArray(CUarray handle);
void ForgetMipmappedArray(CUmipmappedArray handle);

}  // namespace simcuda::memory

#endif  // VRAMSPAN_TOOLS_SIMCUDA_MEMORY_ARRAYS_H_
