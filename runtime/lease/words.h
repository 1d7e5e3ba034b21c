// Numbers as the protocol has them: little-endian, wherever they lie.
#ifndef VRAMSPAN_RUNTIME_LEASE_WORDS_H_
#define VRAMSPAN_RUNTIME_LEASE_WORDS_H_

#include <cstddef>
#include <cstdint>
#include <span>

namespace vramspan::lease {

// REQUIRES: the number lies within the bytes.
template <typename Number>
constexpr void Put(std::span<uint8_t> bytes, size_t offset, Number number) {
  for (size_t i = 0; i < sizeof(Number); ++i) {
    bytes[offset + i] = static_cast<uint8_t>(static_cast<uint64_t>(number) >> (8 * i));
  }
}

template <typename Number>
constexpr Number Get(std::span<const uint8_t> bytes, size_t offset) {
  uint64_t number = 0;
  for (size_t i = 0; i < sizeof(Number); ++i) number |= uint64_t{bytes[offset + i]} << (8 * i);
  return static_cast<Number>(number);
}

}  // namespace vramspan::lease

#endif  // VRAMSPAN_RUNTIME_LEASE_WORDS_H_
