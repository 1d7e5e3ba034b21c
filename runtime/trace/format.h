// The numbers of the trace format. docs/trace-format.md explains them.
#ifndef VRAMSPAN_RUNTIME_TRACE_FORMAT_H_
#define VRAMSPAN_RUNTIME_TRACE_FORMAT_H_

#include <cstddef>
#include <cstdint>

namespace vramspan::trace {

inline constexpr uint16_t kVersion = 4;
// Skippable frames of zstd: the whole file is a valid zstd stream.
inline constexpr uint32_t kHeaderFrame = 0x184D2A56;
inline constexpr uint32_t kBlockFrame = 0x184D2A57;
inline constexpr char kFileMark[8] = {'V', 'R', 'A', 'M', 'S', 'P', 'A', 'N'};
inline constexpr char kBlockMark[4] = {'V', 'S', 'B', 'K'};
inline constexpr uint16_t kByteOrder = 0x0102;

// Most that a reader takes; a writer stays far below.
inline constexpr size_t kMostHeader = 1 << 16;
inline constexpr size_t kMostBlock = 4 << 20;   // Uncompressed.
inline constexpr size_t kMostRanges = 1 << 16;  // Of one event; more is told by the next ones.
inline constexpr size_t kMostName = 4096;
// Of all events of a block together, repeated ones included: an event may say "the same as before"
// in a few bytes.
inline constexpr size_t kMostRangesOfBlock = 1 << 21;
// Of all blocks together, unpacked: so many bytes, and so many more for each byte of the file.
inline constexpr uint64_t kMostUnpacked = 256 << 20;
inline constexpr uint64_t kMostUnpackedOfByte = 64;

// A block's header, behind the frame's own 8 bytes: kBlockMark, then these, little-endian.
struct BlockHeader {
  uint32_t number = 0;  // Counts from 0 through the file.
  uint32_t thread = 0;  // Whose buffer it was.
  uint32_t events = 0;
  uint32_t raw_bytes = 0;
  uint32_t packed_bytes = 0;  // Of the zstd frame that follows.
  uint64_t first_time = 0;    // What the first event's time is relative to.
};
// The mark, the fields, and a checksum (FNV-1a, 32 bits) of what is before it.
inline constexpr size_t kBlockHeaderBytes = 4 + 5 * 4 + 8 + 4;

}  // namespace vramspan::trace

#endif  // VRAMSPAN_RUNTIME_TRACE_FORMAT_H_
