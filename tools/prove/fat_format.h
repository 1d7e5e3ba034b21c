// Fat binaries, as compilers of CUDA 9 to 13 write them: a header, and entries one after another.
// Each is a header of its own, of any length, and the code. Pure.
#ifndef VRAMSPAN_TOOLS_PROVE_FAT_FORMAT_H_
#define VRAMSPAN_TOOLS_PROVE_FAT_FORMAT_H_

#include <cstdint>
#include <string_view>

namespace vramspan::prove {

inline constexpr std::string_view kFatBegin("\x50\xed\x55\xba", 4);
inline constexpr std::string_view kElfBegin(
    "\x7f"
    "ELF\x02\x01",
    6);
inline constexpr uint16_t kCudaMachine = 190;  // Of ELF.

struct FatHeader {
  uint32_t magic;
  uint16_t version, header_size;
  uint64_t size;  // Of all entries.
};
static_assert(sizeof(FatHeader) == 16);

// What is the same in all versions.
struct FatEntry {
  static constexpr uint16_t kPtx = 1, kElf = 2;
  static constexpr uint64_t kLz4 = 0x2000, kZstd = 0x8000;
  static constexpr uint64_t kForThisGpu = 0x100000, kForFamily = 0x200000;  // sm_90a, sm_100f.

  uint16_t kind, version;
  uint32_t header_size;
  uint64_t size;         // Of the code with what fills it up.
  uint32_t packed_size;  // Of the code, where it is packed.
  uint32_t options_offset;
  uint16_t minor, major;
  uint32_t sm;
  uint32_t name_offset, name_size;
  uint64_t flags;
  uint64_t reserved;
  uint64_t unpacked_size;  // Where it is packed.
};
static_assert(sizeof(FatEntry) == 64);

}  // namespace vramspan::prove

#endif  // VRAMSPAN_TOOLS_PROVE_FAT_FORMAT_H_
