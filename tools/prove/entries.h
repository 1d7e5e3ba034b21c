// The code in a GPU image: for which GPUs, and what it is once unpacked.
#ifndef VRAMSPAN_TOOLS_PROVE_ENTRIES_H_
#define VRAMSPAN_TOOLS_PROVE_ENTRIES_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/base/units.h"
#include "tools/prove/images.h"

namespace vramspan::prove {

struct Entry {
  enum class Kind { kPtx, kElf, kOther };
  enum class Packing { kNone, kLz4, kZstd };

  Kind kind = Kind::kOther;
  uint32_t number = 0;  // Of the kind.
  std::string gpu;      // "sm_90a",
  uint32_t sm = 0;      // and the number in it.
  Packing packing = Packing::kNone;
  std::string_view packed;
  uint64_t size = 0;  // Unpacked.
};

// Of one image.
inline constexpr size_t kMostEntries = 4096;
inline constexpr Bytes kMostUnpacked = GiB(1);

// DataLoss: what the image says of itself is wrong. ResourceExhausted: it is beyond these bounds.
StatusOr<std::vector<Entry>> ReadEntries(const Image& image);

// Code as it is once unpacked: of the file where it is not packed there.
struct Code {
  std::unique_ptr<char[]> memory;
  std::string_view bytes;
};

// DataLoss: it is not what the entry says. Takes memory of the entry's size, and no more.
StatusOr<Code> Unpack(const Entry& entry);

}  // namespace vramspan::prove

#endif  // VRAMSPAN_TOOLS_PROVE_ENTRIES_H_
