// Texture and surface objects in kernels that are compiled for the host, under CUDA's own names,
// and tensor maps. Included by tools/simcuda/kernel.h only.
//
// A texture is read as it lies in memory, by the nearest texel: the driver makes no others. Beyond
// a surface there is nothing, and the kernel faults, as with CUDA's cudaBoundaryModeTrap.

#ifndef VRAMSPAN_TOOLS_SIMCUDA_KERNEL_OBJECTS_H_
#define VRAMSPAN_TOOLS_SIMCUDA_KERNEL_OBJECTS_H_

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "tools/simcuda/object_abi.h"

// CUDA puts these in the global namespace, and so does this file.
// NOLINTBEGIN(readability-identifier-naming)

using cudaTextureObject_t = unsigned long long;
using cudaSurfaceObject_t = unsigned long long;

namespace simcuda::device {

inline const abi::Texels& TexelsOf(unsigned long long object) {
  return *reinterpret_cast<const abi::Texels*>(object);
}

template <typename T>
inline T Texel(const abi::Texels& texels, uint64_t x, uint64_t y, uint64_t z) {
  T value{};
  const size_t bytes = texels.texel_bytes < sizeof(T) ? texels.texel_bytes : sizeof(T);
  std::memcpy(&value, texels.data + z * texels.slice + y * texels.pitch + x * texels.texel_bytes,
              bytes);
  return value;
}

// Where a surface has these bytes.
inline char* SurfaceBytes(const abi::Texels& texels, int x, int y, int z, size_t bytes) {
  const bool within = x >= 0 && y >= 0 && z >= 0 &&
                      static_cast<uint64_t>(x) + bytes <= texels.width * texels.texel_bytes &&
                      static_cast<uint64_t>(y) < texels.height &&
                      static_cast<uint64_t>(z) < texels.depth;
  volatile uintptr_t nowhere = 64;  // An address that no memory has.
  if (!within) return reinterpret_cast<char*>(nowhere);
  return texels.data + static_cast<uint64_t>(z) * texels.slice +
         static_cast<uint64_t>(y) * texels.pitch + x;
}

template <typename T>
inline T SurfaceRead(cudaSurfaceObject_t surface, int x, int y, int z) {
  T value{};
  std::memcpy(&value, SurfaceBytes(TexelsOf(surface), x, y, z, sizeof(T)), sizeof(T));
  return value;
}

template <typename T>
inline void SurfaceWrite(const T& value, cudaSurfaceObject_t surface, int x, int y, int z) {
  std::memcpy(SurfaceBytes(TexelsOf(surface), x, y, z, sizeof(T)), &value, sizeof(T));
}

// Beyond an edge the texel at the edge counts.
inline uint64_t Clamped(float coordinate, uint64_t length) {
  if (!(coordinate > 0)) return 0;
  const auto whole = static_cast<uint64_t>(coordinate);
  return whole < length ? whole : length - 1;
}

// Where an element of a tensor map is; null outside. A GPU reaches it by instructions that bring a
// box of elements into shared memory, which host kernels do not have.
template <typename T, typename Map, typename... Coordinates>
inline T* TensorElement(const Map& opaque, Coordinates... coordinates) {
  static_assert(sizeof(Map) == 128 && sizeof...(Coordinates) <= abi::TensorMap::kMaxRank);
  abi::TensorMap map;
  std::memcpy(&map, &opaque, sizeof(map));
  const uint64_t at[] = {static_cast<uint64_t>(coordinates)...};
  if (map.rank != sizeof...(Coordinates) || at[0] >= map.lengths[0]) return nullptr;
  char* element = map.data() + at[0] * map.element_bytes;
  for (uint32_t i = 1; i < map.rank; ++i) {
    if (at[i] >= map.lengths[i]) return nullptr;
    element += at[i] * map.strides[i - 1];
  }
  return reinterpret_cast<T*>(element);
}

}  // namespace simcuda::device

template <typename T>
inline T tex1Dfetch(cudaTextureObject_t object, int x) {
  const simcuda::abi::Texels& texels = simcuda::device::TexelsOf(object);
  if (x < 0 || static_cast<uint64_t>(x) >= texels.width) return T{};
  return simcuda::device::Texel<T>(texels, static_cast<uint64_t>(x), 0, 0);
}

template <typename T>
inline T tex3D(cudaTextureObject_t object, float x, float y, float z) {
  const simcuda::abi::Texels& texels = simcuda::device::TexelsOf(object);
  return simcuda::device::Texel<T>(texels, simcuda::device::Clamped(x, texels.width),
                                   simcuda::device::Clamped(y, texels.height),
                                   simcuda::device::Clamped(z, texels.depth));
}

template <typename T>
inline T tex2D(cudaTextureObject_t object, float x, float y) {
  return tex3D<T>(object, x, y, 0);
}

template <typename T>
inline T tex1D(cudaTextureObject_t object, float x) {
  return tex3D<T>(object, x, 0, 0);
}

// Of surfaces x is in bytes.
template <typename T>
inline T surf1Dread(cudaSurfaceObject_t surface, int x) {
  return simcuda::device::SurfaceRead<T>(surface, x, 0, 0);
}
template <typename T>
inline T surf2Dread(cudaSurfaceObject_t surface, int x, int y) {
  return simcuda::device::SurfaceRead<T>(surface, x, y, 0);
}
template <typename T>
inline T surf3Dread(cudaSurfaceObject_t surface, int x, int y, int z) {
  return simcuda::device::SurfaceRead<T>(surface, x, y, z);
}
template <typename T>
inline void surf1Dwrite(T value, cudaSurfaceObject_t surface, int x) {
  simcuda::device::SurfaceWrite(value, surface, x, 0, 0);
}
template <typename T>
inline void surf2Dwrite(T value, cudaSurfaceObject_t surface, int x, int y) {
  simcuda::device::SurfaceWrite(value, surface, x, y, 0);
}
template <typename T>
inline void surf3Dwrite(T value, cudaSurfaceObject_t surface, int x, int y, int z) {
  simcuda::device::SurfaceWrite(value, surface, x, y, z);
}

// NOLINTEND(readability-identifier-naming)

#endif  // VRAMSPAN_TOOLS_SIMCUDA_KERNEL_OBJECTS_H_
