// How a file is packed, by its first bytes: names are anybody's.
#ifndef VRAMSPAN_TOOLS_REPLAY_PACKING_H_
#define VRAMSPAN_TOOLS_REPLAY_PACKING_H_

#include <string_view>

namespace vramspan::replay {

enum class Packing { kNone, kGzip, kZstd, kXz, kBzip2, kLz4, kLzip, kZip, k7z, kRar };

// Of so many first bytes PackingOf makes up its mind.
inline constexpr size_t kPackingBytes = 16;

// A trace of ours is made of zstd frames, and is not packed by what is meant here.
Packing PackingOf(std::string_view begin);

// "gzip", "zstd": as the programs are called.
std::string_view PackingName(Packing packing);
// The command that unpacks such a file, to stdout where it can.
std::string_view UnpackingCommand(Packing packing);

}  // namespace vramspan::replay

#endif  // VRAMSPAN_TOOLS_REPLAY_PACKING_H_
