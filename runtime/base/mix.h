// A hash that is the same in every process, unlike absl::Hash, so that results are.
#ifndef VRAMSPAN_RUNTIME_BASE_MIX_H_
#define VRAMSPAN_RUNTIME_BASE_MIX_H_

#include <cstdint>

namespace vramspan {

// The finalizer of splitmix64 (G. L. Steele, D. Lea, C. H. Flood, "Fast splittable pseudorandom
// number generators", OOPSLA 2014).
constexpr uint64_t Mix(uint64_t hash, uint64_t value) {
  uint64_t z = hash * 0x9e3779b97f4a7c15 + value + 0x632be59bd9b4e019;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_BASE_MIX_H_
