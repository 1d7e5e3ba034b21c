#include "tools/prove/entries.h"

#include <absl/strings/str_cat.h>
#include <elf.h>
#include <lz4.h>
#include <zstd.h>

#include <utility>

#include "tools/prove/fat_format.h"
#include "tools/prove/field.h"

namespace vramspan::prove {
namespace {

Status Damaged(std::string_view why) { return absl::DataLossError(why); }

StatusOr<Entry> ReadCubin(std::string_view bytes) {
  Elf64_Ehdr header;
  if (!ReadField(bytes, 0, &header)) return Damaged("a cubin ends in its header");
  // The eighth version of the ABI moved the number.
  const uint32_t sm =
      header.e_ident[EI_ABIVERSION] >= 8 ? header.e_flags >> 8 & 0xff : header.e_flags & 0xff;
  return Entry{.kind = Entry::Kind::kElf,
               .number = FatEntry::kElf,
               .gpu = absl::StrCat("sm_", sm),
               .sm = sm,
               .packed = bytes,
               .size = bytes.size()};
}

StatusOr<Entry> Read(const FatEntry& from, std::string_view code) {
  Entry entry;
  entry.number = from.kind;
  entry.sm = from.sm;
  entry.kind = from.kind == FatEntry::kPtx   ? Entry::Kind::kPtx
               : from.kind == FatEntry::kElf ? Entry::Kind::kElf
                                             : Entry::Kind::kOther;
  entry.gpu = absl::StrCat(entry.kind == Entry::Kind::kPtx ? "compute_" : "sm_", from.sm,
                           (from.flags & FatEntry::kForThisGpu) != 0  ? "a"
                           : (from.flags & FatEntry::kForFamily) != 0 ? "f"
                                                                      : "");
  const bool lz4 = (from.flags & FatEntry::kLz4) != 0, zstd = (from.flags & FatEntry::kZstd) != 0;
  entry.packed = code;
  entry.size = code.size();
  if (!lz4 && !zstd) return entry;
  if (lz4 && zstd) return Damaged("an entry is packed in two ways");
  if (from.packed_size > code.size()) return Damaged("an entry is packed to more than it has");
  entry.packing = lz4 ? Entry::Packing::kLz4 : Entry::Packing::kZstd;
  entry.packed = code.substr(0, from.packed_size);
  entry.size = from.unpacked_size;
  return entry;
}

}  // namespace

StatusOr<std::vector<Entry>> ReadEntries(const Image& image) {
  std::vector<Entry> entries;
  if (!image.fat) {
    VS_ASSIGN_OR_RETURN(Entry entry, ReadCubin(image.bytes));
    entries.push_back(std::move(entry));
    return entries;
  }
  FatHeader header;
  if (!ReadField(image.bytes, 0, &header) || header.header_size < sizeof(header)) {
    return Damaged("a fat binary ends in its header");
  }
  if (header.version != 1) {
    return Damaged(absl::StrCat("fat binaries of version ", header.version, " are not known"));
  }
  std::string_view rest = Part(image.bytes, header.header_size, header.size);
  uint64_t unpacked = 0;
  while (!rest.empty()) {
    FatEntry from;
    if (!ReadField(rest, 0, &from) || from.header_size < sizeof(from) ||
        from.header_size > rest.size() || from.size > rest.size() - from.header_size) {
      return Damaged("an entry reaches beyond its fat binary");
    }
    VS_ASSIGN_OR_RETURN(Entry entry, Read(from, rest.substr(from.header_size, from.size)));
    rest.remove_prefix(from.header_size + from.size);
    if (entry.size > kMostUnpacked.value - unpacked) {
      return absl::ResourceExhaustedError("unpacked it has more than 1 GiB");
    }
    unpacked += entry.size;
    entries.push_back(std::move(entry));
    if (entries.size() > kMostEntries) {
      return absl::ResourceExhaustedError("it has more than 4,096 entries");
    }
  }
  return entries;
}

StatusOr<Code> Unpack(const Entry& entry) {
  const std::string_view packed = entry.packed;
  if (entry.packing == Entry::Packing::kNone) return Code{nullptr, packed};
  if (entry.size > kMostUnpacked.value || packed.size() > kMostUnpacked.value) {
    return absl::ResourceExhaustedError("unpacked it has more than 1 GiB");
  }
  // Not cleared: what is written alone takes memory, whatever size the entry claims.
  Code code{std::make_unique_for_overwrite<char[]>(entry.size), {}};
  bool whole = false;
  if (entry.packing == Entry::Packing::kLz4) {
    const int got =
        LZ4_decompress_safe(packed.data(), code.memory.get(), static_cast<int>(packed.size()),
                            static_cast<int>(entry.size));
    whole = got >= 0 && static_cast<uint64_t>(got) == entry.size;
  } else {
    whole =
        ZSTD_decompress(code.memory.get(), entry.size, packed.data(), packed.size()) == entry.size;
  }
  if (!whole) return Damaged("its code cannot be unpacked");
  code.bytes = {code.memory.get(), entry.size};
  return code;
}

}  // namespace vramspan::prove
