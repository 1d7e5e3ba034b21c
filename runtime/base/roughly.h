// Which sizes are about the same: the same code over about as much memory, in about as many blocks,
// is taken for the same kernel.
#ifndef VRAMSPAN_RUNTIME_BASE_ROUGHLY_H_
#define VRAMSPAN_RUNTIME_BASE_ROUGHLY_H_

#include <algorithm>
#include <bit>
#include <cstdint>

#include "runtime/base/units.h"

namespace vramspan {

// What two numbers that are about the same have in common: the two highest bits and where they are.
constexpr uint64_t Roughly(uint64_t number) {
  const int shift = std::max(0, static_cast<int>(std::bit_width(number)) - 2);
  return number >> shift << shift;
}
constexpr uint64_t RoughSize(Bytes bytes) { return Roughly(bytes.value); }

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_BASE_ROUGHLY_H_
