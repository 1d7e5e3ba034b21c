#include "tools/prove/cubin_part.h"

#include <elf.h>
#include <gmock/gmock.h>

#include <cstring>
#include <vector>

#include "tests/prove/made_images.h"
#include "tools/prove/fat_format.h"
#include "tools/prove/kernel_names.h"

namespace vramspan::prove {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

template <typename T>
void Append(const T& field, std::string* to) {
  to->append(reinterpret_cast<const char*>(&field), sizeof(field));
}

// A cubin, section by section. Numbers begin with 1.
class CubinMaker {
 public:
  void Add(const std::string& name, uint32_t type, const std::string& bytes, uint32_t info = 0,
           uint64_t flags = 0) {
    Elf64_Shdr section{};
    section.sh_name = static_cast<uint32_t>(names_.size());
    section.sh_type = type;
    section.sh_info = info;
    section.sh_flags = flags;
    section.sh_size = bytes.size();
    section.sh_offset = sizeof(Elf64_Ehdr) + bytes_.size();
    sections_.push_back(section);
    names_.append(name).push_back('\0');
    bytes_ += bytes;
  }
  std::vector<Elf64_Shdr>& sections() { return sections_; }
  std::string Make() {
    Add(".shstrtab", SHT_STRTAB, "");
    sections_.back().sh_size = names_.size();
    Elf64_Ehdr header{};
    kElfBegin.copy(reinterpret_cast<char*>(header.e_ident), kElfBegin.size());
    header.e_machine = kCudaMachine;
    header.e_shstrndx = static_cast<uint16_t>(sections_.size() - 1);
    header.e_shnum = static_cast<uint16_t>(sections_.size());
    header.e_shentsize = sizeof(Elf64_Shdr);
    header.e_shoff = sizeof(header) + bytes_.size() + names_.size();
    std::string cubin;
    Append(header, &cubin);
    cubin += bytes_ + names_;
    for (const Elf64_Shdr& section : sections_) Append(section, &cubin);
    return cubin;
  }

 private:
  std::vector<Elf64_Shdr> sections_{1};
  std::string names_{'\0'}, bytes_;
};

std::string Symbols() {
  std::string symbols;
  Append(Elf64_Sym{}, &symbols);
  for (const auto& [name, other, section] : {std::tuple(1, 0x10, 3), std::tuple(3, 0x10, 4),
                                             std::tuple(5, 0, 5), std::tuple(7, 0x10, 6)}) {
    Elf64_Sym symbol{};
    symbol.st_name = static_cast<uint32_t>(name);
    symbol.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
    symbol.st_other = static_cast<unsigned char>(other);
    symbol.st_shndx = static_cast<uint16_t>(section);
    symbol.st_size = 4;
    Append(symbol, &symbols);
  }
  return symbols;
}

CubinMaker Two() {
  CubinMaker cubin;
  cubin.Add(".symtab", SHT_SYMTAB, Symbols());
  cubin.sections().back().sh_link = 2;
  cubin.Add(".strtab", SHT_STRTAB, std::string("\0f\0g\0h\0__assertfail\0", 20));
  cubin.Add(".text.f", SHT_PROGBITS, "CODE-F", 0, SHF_ALLOC);
  cubin.Add(".text.g", SHT_PROGBITS, "CODE-G", 0, SHF_ALLOC);
  // Whatever it says that it belongs to.
  cubin.Add(".text.h", SHT_PROGBITS, "CODE-H", 4, SHF_INFO_LINK);
  cubin.Add(".text.__assertfail", SHT_PROGBITS, "CODE-ASSERT", 4, SHF_INFO_LINK);
  cubin.Add(".nv.constant4", SHT_PROGBITS, "BANK4", 0, SHF_ALLOC);
  cubin.Add(".nv.constant2.g", SHT_PROGBITS, "TABLE-G", 4, SHF_INFO_LINK);
  cubin.Add(".rela.nv.constant2.g", SHT_RELA, "MOVES-TABLE-G", 8, SHF_INFO_LINK);
  cubin.Add(".rela.text.g", SHT_RELA, "MOVES-CODE-G", 4, SHF_INFO_LINK);
  cubin.Add(".nv.constant2.f", SHT_PROGBITS, "TABLE-F", 3, SHF_INFO_LINK);
  cubin.Add(".debug_frame", SHT_PROGBITS, "DEBUG");
  return cubin;
}

TEST(CubinPartTest, HasTheCodeOfTheseKernels) {
  const StatusOr<std::string> part = CubinPart(Two().Make(), {"f"});
  ASSERT_TRUE(part.ok()) << part.status();
  EXPECT_THAT(*part, AllOf(HasSubstr("CODE-F"), HasSubstr("TABLE-F"), HasSubstr("BANK4")));
  EXPECT_THAT(*part,
              AllOf(Not(HasSubstr("CODE-G")), Not(HasSubstr("TABLE-G")), Not(HasSubstr("DEBUG"))));
  EXPECT_THAT(KernelsOfCubin(*part).value(), ElementsAre("__assertfail", "f"));
  EXPECT_THAT(CubinPart(Two().Make(), {"f", "g"}).value(), HasSubstr("TABLE-G"));
}

// That it is shown is what says that a call of it is none of the driver's.
TEST(CubinPartTest, FunctionsStay) {
  const std::string part = CubinPart(Two().Make(), {"f"}).value();
  EXPECT_THAT(part, AllOf(HasSubstr("CODE-H"), HasSubstr("CODE-ASSERT")));
}

TEST(CubinPartTest, SectionsKeepTheirNumbers) {
  const std::string part = CubinPart(Two().Make(), {"g"}).value();
  Elf64_Ehdr header;
  std::memcpy(&header, part.data(), sizeof(header));
  Elf64_Shdr code;
  std::memcpy(&code, part.data() + header.e_shoff + 4 * sizeof(code), sizeof(code));
  EXPECT_EQ(part.substr(code.sh_offset, code.sh_size), "CODE-G");
  std::memcpy(&code, part.data() + header.e_shoff + 3 * sizeof(code), sizeof(code));
  EXPECT_EQ(code.sh_type, SHT_NULL);
  EXPECT_EQ(code.sh_size, 0u);
}

TEST(CubinPartTest, OneWithoutNamesStaysWhole) {
  const std::string cubin = MadeCubin(90, {"f", "g"});
  EXPECT_THAT(KernelsOfCubin(CubinPart(cubin, {"f"}).value()).value(), ElementsAre("f", "g"));
}

TEST(CubinPartTest, WhatIsWrongIsAnError) {
  EXPECT_FALSE(CubinPart("", {"f"}).ok());
  const std::string cubin = Two().Make();
  for (size_t size = 0; size < cubin.size(); ++size) {
    EXPECT_FALSE(CubinPart(cubin.substr(0, size), {"f"}).ok()) << size;
  }
  CubinMaker large;
  large.Add(".data", SHT_PROGBITS, std::string(1 << 20, 'x'));
  const Elf64_Shdr all = large.sections().back();
  for (int i = 0; i < 10; ++i) large.sections().push_back(all);
  EXPECT_FALSE(CubinPart(large.Make(), {"f"}).ok()) << "a small file would become a large one";
}

}  // namespace
}  // namespace vramspan::prove
