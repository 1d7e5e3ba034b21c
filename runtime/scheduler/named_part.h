// How much of a chunk something names, in one byte: to within a sixteenth, and never too little. An
// array may be a thousandth of the chunk that it lies in, and then it costs as much less to be
// served where it lies.
#ifndef VRAMSPAN_RUNTIME_SCHEDULER_NAMED_PART_H_
#define VRAMSPAN_RUNTIME_SCHEDULER_NAMED_PART_H_

#include <algorithm>
#include <bit>
#include <cstdint>

#include "runtime/base/units.h"

namespace vramspan {

class NamedPart {
 public:
  constexpr NamedPart() = default;  // All of it.
  constexpr bool operator==(const NamedPart&) const = default;
  static constexpr NamedPart Of(Bytes named) {
    const uint64_t steps = std::max(named.value / kStep + (named.value % kStep != 0), kOnes);
    const int shift = std::bit_width(steps) - std::bit_width(kOnes);
    const uint64_t rounded = (steps + (uint64_t{1} << shift) - 1) >> shift;
    // A carry makes it the first of the next power of two.
    const uint64_t code = (static_cast<uint64_t>(shift) << 4) + (rounded - kOnes) + 1;
    return FromCode(code > UINT8_MAX ? 0 : static_cast<uint8_t>(code));
  }
  // As `code` tells it: any number is some part.
  static constexpr NamedPart FromCode(uint8_t code) {
    NamedPart part;
    part.code_ = code;
    return part;
  }
  constexpr uint8_t code() const { return code_; }

  // Of a chunk of that size.
  constexpr Bytes In(Bytes chunk) const {
    if (code_ == 0) return chunk;
    const unsigned from = code_ - 1u;
    return std::min(chunk, Bytes(((kOnes + (from & 15)) << (from >> 4)) * kStep));
  }
  // Something else of the same chunk is named as well.
  constexpr void Add(NamedPart other) {
    constexpr Bytes kMost{UINT64_MAX};
    *this = code_ == 0 || other.code_ == 0 ? NamedPart() : Of(In(kMost) + other.In(kMost));
  }

 private:
  static constexpr uint64_t kStep = 256, kOnes = 16;  // So 4 KiB are the least.

  uint8_t code_ = 0;
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_SCHEDULER_NAMED_PART_H_
