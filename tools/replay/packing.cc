#include "tools/replay/packing.h"

#include "runtime/trace/reader.h"

namespace vramspan::replay {
namespace {

using std::string_view_literals::operator""sv;

struct Known {
  Packing packing;
  std::string_view mark, name, unpack;
};

constexpr Known kKnown[] = {
    {Packing::kZstd, "\x28\xb5\x2f\xfd"sv, "zstd", "zstd -dc"},
    {Packing::kXz, "\xfd\x37zXZ\0"sv, "xz", "xz -dc"},
    {Packing::kBzip2, "BZh"sv, "bzip2", "bzip2 -dc"},
    {Packing::kLz4, "\x04\x22\x4d\x18"sv, "lz4", "lz4 -dc"},
    {Packing::kLz4, "\x02\x21\x4c\x18"sv, "lz4", "lz4 -dc"},
    {Packing::kLzip, "LZIP\x01"sv, "lzip", "lzip -dc"},
    {Packing::kZip, "PK\x03\x04"sv, "zip", "unzip -p"},
    {Packing::k7z, "7z\xbc\xaf\x27\x1c"sv, "7z", "7z e -so"},
    {Packing::kRar, "Rar!\x1a\x07"sv, "rar", "unrar p -inul"},
    // The method is always 8 and three flags are none: two bytes may be anything's.
    {Packing::kGzip, "\x1f\x8b\x08"sv, "gzip", "gzip -dc"},
};

const Known* Find(Packing packing) {
  for (const Known& known : kKnown) {
    if (known.packing == packing) return &known;
  }
  return nullptr;
}

}  // namespace

Packing PackingOf(std::string_view begin) {
  if (trace::Reader::LooksLikeTrace(begin)) return Packing::kNone;
  // Frames that a reader passes over; pzstd begins with one.
  if (begin.size() >= 8 && (static_cast<unsigned char>(begin[0]) & 0xf0) == 0x50 &&
      begin.substr(1, 3) == "\x2a\x4d\x18"sv) {
    return Packing::kZstd;
  }
  for (const Known& known : kKnown) {
    if (!begin.starts_with(known.mark)) continue;
    if (known.packing == Packing::kGzip &&
        (begin.size() < 4 || (static_cast<unsigned char>(begin[3]) & 0xe0) != 0)) {
      continue;
    }
    // The level, then the mark of a block or of the end.
    if (known.packing == Packing::kBzip2 && begin.substr(4, 6) != "1AY&SY"sv &&
        begin.substr(4, 6) != "\x17\x72\x45\x38\x50\x90"sv) {
      continue;
    }
    return known.packing;
  }
  return Packing::kNone;
}

std::string_view PackingName(Packing packing) {
  const Known* const known = Find(packing);
  return known == nullptr ? "nothing" : known->name;
}

std::string_view UnpackingCommand(Packing packing) {
  const Known* const known = Find(packing);
  return known == nullptr ? "cat" : known->unpack;
}

}  // namespace vramspan::replay
