// Texture objects in kernels that are compiled for the host, under CUDA's own names, and tensor
// maps. Included by tools/simcuda/kernel.h only.
//
// A texture is read as it lies in memory, by the nearest texel: the driver makes no others.

#ifndef VRAMSPAN_TOOLS_SIMCUDA_KERNEL_OBJECTS_H_
#define VRAMSPAN_TOOLS_SIMCUDA_KERNEL_OBJECTS_H_

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "tools/simcuda/object_abi.h"

// CUDA puts these in the global namespace, and so does this file.
// NOLINTBEGIN(readability-identifier-naming)

using cudaTextureObject_t = unsigned long long;

namespace simcuda::device {

inline const abi::Texture& TextureOf(cudaTextureObject_t texture) {
  return *reinterpret_cast<const abi::Texture*>(texture);
}

template <typename T>
inline T Texel(const abi::Texture& texture, uint64_t x, uint64_t y) {
  T value{};
  const size_t bytes = texture.texel_bytes < sizeof(T) ? texture.texel_bytes : sizeof(T);
  std::memcpy(&value, texture.data + y * texture.pitch + x * texture.texel_bytes, bytes);
  return value;
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
  const simcuda::abi::Texture& texture = simcuda::device::TextureOf(object);
  if (x < 0 || static_cast<uint64_t>(x) >= texture.width) return T{};
  return simcuda::device::Texel<T>(texture, static_cast<uint64_t>(x), 0);
}

template <typename T>
inline T tex2D(cudaTextureObject_t object, float x, float y) {
  const simcuda::abi::Texture& texture = simcuda::device::TextureOf(object);
  return simcuda::device::Texel<T>(texture, simcuda::device::Clamped(x, texture.width),
                                   simcuda::device::Clamped(y, texture.height));
}

// NOLINTEND(readability-identifier-naming)

#endif  // VRAMSPAN_TOOLS_SIMCUDA_KERNEL_OBJECTS_H_
