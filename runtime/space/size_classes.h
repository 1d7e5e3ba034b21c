// The sizes that small allocations are rounded up to: multiples of 256 bytes, so that every object
// is aligned as cudaMalloc promises, and four to a doubling, so that at most a fifth of an object
// above 1 KiB is wasted.
#ifndef VRAMSPAN_RUNTIME_SPACE_SIZE_CLASSES_H_
#define VRAMSPAN_RUNTIME_SPACE_SIZE_CLASSES_H_

#include <array>
#include <cstdint>

#include "runtime/base/units.h"

namespace vramspan {

inline constexpr int kUnitLog2 = 8;  // 256 bytes.

// In units of 256 bytes.
inline constexpr std::array<uint8_t, 24> kClassUnits = {
    1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 28, 32, 40, 48, 56, 64, 80, 96, 112, 128};
inline constexpr int kClassCount = static_cast<int>(kClassUnits.size());
inline constexpr Bytes kMaxClassBytes{uint64_t{kClassUnits.back()} << kUnitLog2};

constexpr Bytes ClassBytes(int size_class) {
  return Bytes(uint64_t{kClassUnits[size_class]} << kUnitLog2);
}

namespace internal {
constexpr auto MakeClassOfUnits() {
  std::array<uint8_t, kClassUnits.back() + 1> classes{};
  for (unsigned units = 0, size_class = 0; units < classes.size(); ++units) {
    if (units > kClassUnits[size_class]) ++size_class;
    classes[units] = static_cast<uint8_t>(size_class);
  }
  return classes;
}
inline constexpr auto kClassOfUnits = MakeClassOfUnits();
}  // namespace internal

// The smallest class that holds `size`. REQUIRES: size <= kMaxClassBytes.
constexpr int ClassFor(Bytes size) {
  return internal::kClassOfUnits[RoundUp(size, Bytes(1 << kUnitLog2)).value >> kUnitLog2];
}

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_SPACE_SIZE_CLASSES_H_
