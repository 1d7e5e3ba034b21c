// What stands for memory in a launch's parameters, as the driver writes it and host kernels read
// it: texture and surface objects, and tensor maps. As kernel_abi.h, both sides compile this file.

#ifndef VRAMSPAN_TOOLS_SIMCUDA_OBJECT_ABI_H_
#define VRAMSPAN_TOOLS_SIMCUDA_OBJECT_ABI_H_

#include <cstdint>

namespace simcuda::abi {

// A texture or surface object's handle is the address of one of these, which is never freed.
struct Texels {
  char* data;      // null once the object is destroyed
  uint64_t width;  // texels; of linear memory all of them
  uint64_t height;
  uint64_t depth;
  uint64_t pitch;        // bytes from row to row
  uint64_t slice;        // bytes from plane to plane
  uint32_t texel_bytes;  // 1 to 16
};

// At the start of a CUtensorMap. Opaque: no word of it is an address, so whoever looks for
// addresses among a launch's parameters must know the map.
struct TensorMap {
  static constexpr uint32_t kMaxRank = 5;

  static constexpr uint64_t kMask = 0xa5a5a5a5a5a5a5a5u;

  void Point(const void* to) { masked = reinterpret_cast<uint64_t>(to) ^ kMask; }
  char* data() const { return reinterpret_cast<char*>(masked ^ kMask); }

  uint64_t masked;                 // where the data are
  uint64_t lengths[kMaxRank];      // elements, fastest first
  uint64_t strides[kMaxRank - 1];  // bytes, of all dimensions but the first
  uint32_t rank;
  uint32_t element_bytes;
  uint32_t box[kMaxRank];  // what one load brings; nothing here depends on it
  uint32_t settings;       // likewise
};
static_assert(sizeof(TensorMap) <= 128);

}  // namespace simcuda::abi

#endif  // VRAMSPAN_TOOLS_SIMCUDA_OBJECT_ABI_H_
