// Copies of rows in one shape, whatever struct of the driver describes them. Inside this folder
// only.
#ifndef VRAMSPAN_RUNTIME_OBSERVE_PITCHED_COPY_H_
#define VRAMSPAN_RUNTIME_OBSERVE_PITCHED_COPY_H_

#include <cuda.h>

#include <cstdint>

namespace vramspan {

struct PitchedOperand {
  CUmemorytype type = CU_MEMORYTYPE_DEVICE;
  const void* host = nullptr;      // Of CU_MEMORYTYPE_HOST.
  uint64_t device = 0;             // Of CU_MEMORYTYPE_DEVICE and UNIFIED.
  uint64_t pitch = 0, height = 0;  // 0: as wide, as high as the copy.
  uint64_t x = 0, y = 0, z = 0;    // x in bytes.
};

struct PitchedCopy {
  PitchedOperand target, source;
  uint64_t width = 0, rows = 0, layers = 1;  // Width in bytes.
};

// From CUDA_MEMCPY2D, CUDA_MEMCPY3D and CUDA_MEMCPY3D_PEER.
template <typename Driver>
PitchedCopy MakePitchedCopy(const Driver& c) {
  PitchedCopy copy;
  copy.target = {.type = c.dstMemoryType,
                 .host = c.dstHost,
                 .device = c.dstDevice,
                 .pitch = c.dstPitch,
                 .x = c.dstXInBytes,
                 .y = c.dstY};
  copy.source = {.type = c.srcMemoryType,
                 .host = c.srcHost,
                 .device = c.srcDevice,
                 .pitch = c.srcPitch,
                 .x = c.srcXInBytes,
                 .y = c.srcY};
  copy.width = c.WidthInBytes;
  copy.rows = c.Height;
  if constexpr (requires { c.Depth; }) {
    copy.layers = c.Depth;
    copy.target.height = c.dstHeight;
    copy.target.z = c.dstZ;
    copy.source.height = c.srcHeight;
    copy.source.z = c.srcZ;
  }
  return copy;
}

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_OBSERVE_PITCHED_COPY_H_
