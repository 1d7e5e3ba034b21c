#include "tests/prove/made_images.h"

#include <elf.h>
#include <lz4.h>
#include <zstd.h>

#include <array>
#include <cstring>

#include "runtime/base/log.h"
#include "tools/prove/fat_format.h"

namespace vramspan::prove {
namespace {

template <typename T>
void Append(const T& field, std::string* to) {
  to->append(reinterpret_cast<const char*>(&field), sizeof(field));
}

Elf64_Sym Symbol(uint32_t name, unsigned char other) {
  Elf64_Sym symbol{};
  symbol.st_name = name;
  symbol.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
  symbol.st_other = other;
  symbol.st_shndx = 1;
  return symbol;
}

std::string Packed(const MadeEntry& entry) {
  std::string packed;
  if ((entry.flags & FatEntry::kZstd) != 0) {
    packed.resize(ZSTD_compressBound(entry.code.size()));
    packed.resize(
        ZSTD_compress(packed.data(), packed.size(), entry.code.data(), entry.code.size(), 3));
  } else if ((entry.flags & FatEntry::kLz4) != 0) {
    const int size = static_cast<int>(entry.code.size());
    packed.resize(static_cast<size_t>(LZ4_compressBound(size)));
    const int got = LZ4_compress_default(entry.code.data(), packed.data(), size,
                                         static_cast<int>(packed.size()));
    VS_CHECK(got > 0);
    packed.resize(static_cast<size_t>(got));
  }
  return packed;
}

}  // namespace

std::string MadeCubin(uint32_t sm, const std::vector<std::string>& kernels) {
  constexpr std::string_view kTexts("\0helper\0", 8);
  std::string texts(kTexts), symbols;
  Append(Elf64_Sym{}, &symbols);
  Append(Symbol(1, 0), &symbols);
  for (const std::string& kernel : kernels) {
    Append(Symbol(static_cast<uint32_t>(texts.size()), 0x10), &symbols);
    texts.append(kernel).push_back('\0');
  }
  std::array<Elf64_Shdr, 3> sections{};
  sections[1].sh_type = SHT_SYMTAB;
  sections[1].sh_link = 2;
  sections[1].sh_offset = sizeof(Elf64_Ehdr) + sizeof(sections);
  sections[1].sh_size = symbols.size();
  sections[2].sh_type = SHT_STRTAB;
  sections[2].sh_offset = sections[1].sh_offset + symbols.size();
  sections[2].sh_size = texts.size();
  Elf64_Ehdr header{};
  kElfBegin.copy(reinterpret_cast<char*>(header.e_ident), kElfBegin.size());
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_ident[EI_ABIVERSION] = 8;
  header.e_machine = kCudaMachine;
  header.e_flags = 0x6000004 | sm << 8;
  header.e_shoff = sizeof(header);
  header.e_shnum = sections.size();
  header.e_shentsize = sizeof(Elf64_Shdr);
  std::string cubin;
  Append(header, &cubin);
  Append(sections, &cubin);
  return cubin + symbols + texts;
}

std::string MadeFat(const std::vector<MadeEntry>& entries) {
  std::string body;
  for (const MadeEntry& made : entries) {
    const std::string packed = Packed(made);
    std::string code = packed.empty() ? made.code : packed;
    FatEntry entry{};
    entry.kind = made.kind;
    entry.version = 0x101;
    entry.header_size = static_cast<uint32_t>(sizeof(entry)) + made.more_header;
    entry.packed_size = static_cast<uint32_t>(packed.size());
    entry.sm = made.sm;
    entry.flags = 0x11 | made.flags;
    entry.unpacked_size = packed.empty() ? 0 : made.code.size();
    code.resize((code.size() + 7) / 8 * 8);
    entry.size = code.size();
    Append(entry, &body);
    body.append(made.more_header, '\x48').append(code);
  }
  std::string fat;
  Append(FatHeader{0xba55ed50, 1, 16, body.size()}, &fat);
  return fat + body;
}

std::string WithHostCode(std::string image, const std::string& gpu) {
  Elf64_Ehdr header;
  std::memcpy(&header, image.data(), sizeof(header));
  const std::string sections =
      image.substr(header.e_shoff, size_t{header.e_shnum} * header.e_shentsize);
  image.resize((image.size() + 7) / 8 * 8);
  image += gpu;
  image.resize((image.size() + 7) / 8 * 8);
  header.e_shoff = image.size();
  std::memcpy(image.data(), &header, sizeof(header));
  return image + sections;
}

}  // namespace vramspan::prove
