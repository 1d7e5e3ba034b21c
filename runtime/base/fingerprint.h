// What memory holds, in 128 bits: two hashes of every word and its place. Two different contents
// have the same fingerprint by chance once in 2^128. To compare fingerprints costs some
// microseconds. To copy a chunk over the bus costs a millisecond.
#ifndef VRAMSPAN_RUNTIME_BASE_FINGERPRINT_H_
#define VRAMSPAN_RUNTIME_BASE_FINGERPRINT_H_

#include <cstdint>

namespace vramspan {

struct Fingerprint {
  uint64_t a = 0, b = 0;
  bool operator==(const Fingerprint&) const = default;
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_BASE_FINGERPRINT_H_
