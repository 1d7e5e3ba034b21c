// Numbers as bytes: seven bits to a byte, the lowest first, as LEB128 (and protobuf) have them.
// Differences are folded so that small ones of either sign take few bytes.
#ifndef VRAMSPAN_RUNTIME_TRACE_VARINT_H_
#define VRAMSPAN_RUNTIME_TRACE_VARINT_H_

#include <cstddef>
#include <cstdint>

namespace vramspan::trace {

inline constexpr size_t kMostVarint = 10;

// Returns the end of what was written: at most kMostVarint bytes.
inline uint8_t* PutVarint(uint8_t* at, uint64_t value) {
  while (value >= 0x80) {
    *at++ = static_cast<uint8_t>(value) | 0x80;
    value >>= 7;
  }
  *at++ = static_cast<uint8_t>(value);
  return at;
}

constexpr uint64_t Fold(uint64_t from, uint64_t to) {
  const auto difference = static_cast<int64_t>(to - from);
  return (static_cast<uint64_t>(difference) << 1) ^ static_cast<uint64_t>(difference >> 63);
}
constexpr uint64_t Unfold(uint64_t from, uint64_t folded) {
  return from + ((folded >> 1) ^ (~(folded & 1) + 1));
}

// Reads within [at, end). After a failure `ok` is false and everything read is 0.
class VarintReader {
 public:
  VarintReader(const uint8_t* at, const uint8_t* end) : at_(at), end_(end) {}

  uint64_t Take() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64 && at_ != end_; shift += 7) {
      const uint8_t byte = *at_++;
      // The tenth byte has room for one bit.
      if (shift == 63 && byte > 1) break;
      value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    ok_ = false;
    at_ = end_;
    return 0;
  }

  bool ok() const { return ok_; }
  const uint8_t* at() const { return at_; }
  size_t left() const { return static_cast<size_t>(end_ - at_); }
  void Skip(size_t bytes) { at_ += bytes; }  // REQUIRES: bytes <= left().

 private:
  const uint8_t* at_;
  const uint8_t* end_;
  bool ok_ = true;
};

}  // namespace vramspan::trace

#endif  // VRAMSPAN_RUNTIME_TRACE_VARINT_H_
