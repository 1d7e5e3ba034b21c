// Strong types for the quantities that must not be mixed up: byte counts, device addresses, chunk
// ids, times. All are trivially copyable values; arithmetic that makes no sense does not compile.
#ifndef VRAMSPAN_RUNTIME_BASE_UNITS_H_
#define VRAMSPAN_RUNTIME_BASE_UNITS_H_

#include <chrono>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace vramspan {

// A number of bytes.
struct Bytes {
  uint64_t value = 0;

  constexpr Bytes() = default;
  constexpr explicit Bytes(uint64_t v) : value(v) {}
  constexpr auto operator<=>(const Bytes&) const = default;
  constexpr Bytes& operator+=(Bytes o) { return value += o.value, *this; }
  constexpr Bytes& operator-=(Bytes o) { return value -= o.value, *this; }
};
constexpr Bytes operator+(Bytes a, Bytes b) { return Bytes(a.value + b.value); }
constexpr Bytes operator-(Bytes a, Bytes b) { return Bytes(a.value - b.value); }
constexpr Bytes operator*(Bytes a, uint64_t n) { return Bytes(a.value * n); }
constexpr Bytes operator*(uint64_t n, Bytes a) { return Bytes(a.value * n); }
constexpr uint64_t operator/(Bytes a, Bytes b) { return a.value / b.value; }

constexpr Bytes KiB(uint64_t n) { return Bytes(n << 10); }
constexpr Bytes MiB(uint64_t n) { return Bytes(n << 20); }
constexpr Bytes GiB(uint64_t n) { return Bytes(n << 30); }

// Rounds up to a multiple of `unit`, a power of two. REQUIRES: the result does not overflow.
constexpr Bytes RoundUp(Bytes bytes, Bytes unit) {
  return Bytes((bytes.value + unit.value - 1) & ~(unit.value - 1));
}

// An address in a device's address space; what the program sees as a CUdeviceptr.
struct DevicePtr {
  uint64_t value = 0;

  constexpr DevicePtr() = default;
  constexpr explicit DevicePtr(uint64_t v) : value(v) {}
  constexpr auto operator<=>(const DevicePtr&) const = default;
};
constexpr DevicePtr operator+(DevicePtr p, Bytes n) { return DevicePtr(p.value + n.value); }
constexpr DevicePtr operator-(DevicePtr p, Bytes n) { return DevicePtr(p.value - n.value); }
constexpr Bytes operator-(DevicePtr a, DevicePtr b) { return Bytes(a.value - b.value); }

// Time as a value. Whoever has a clock says what an Instant counts from: the mover takes the steady
// clock's, a replay begins at 0.
using Duration = std::chrono::nanoseconds;
struct Timeline {
  using duration = Duration;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<Timeline>;
  static constexpr bool is_steady = true;
};
using Instant = Timeline::time_point;

// Names a chunk: an index into the chunk table. 0 is no chunk.
struct ChunkIndex {
  uint32_t value = 0;

  constexpr ChunkIndex() = default;
  constexpr explicit ChunkIndex(uint32_t v) : value(v) {}
  constexpr auto operator<=>(const ChunkIndex&) const = default;
  constexpr explicit operator bool() const { return value != 0; }
};

// A chunk's size is 2^log2 bytes, 2 MiB to 64 MiB.
inline constexpr int kMinChunkLog2 = 21;
inline constexpr int kMaxChunkLog2 = 26;
inline constexpr int kChunkSizeCount = kMaxChunkLog2 - kMinChunkLog2 + 1;
inline constexpr Bytes kGranularity{uint64_t{1} << kMinChunkLog2};

constexpr Bytes ChunkBytes(int log2) { return Bytes(uint64_t{1} << log2); }

// The cost of a lookup or a hash over ids is paid on the launch path: identity is enough.
struct ChunkIndexHash {
  size_t operator()(ChunkIndex c) const { return c.value; }
};
template <typename H>
H AbslHashValue(H h, ChunkIndex c) {
  return H::combine(std::move(h), c.value);
}

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_BASE_UNITS_H_
