#include "tools/prove/cubin_part.h"

#include <absl/strings/strip.h>
#include <elf.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "tools/prove/cubin_sections.h"
#include "tools/prove/kernel_names.h"
#include "tools/prove/sass_text.h"

namespace vramspan::prove {
namespace {

constexpr size_t kAlignment = 128;

struct PartSections {
  std::vector<Elf64_Shdr> all;
  std::string_view names;
  std::string_view NameOf(const Elf64_Shdr& section) const {
    const std::string_view name = names.substr(std::min<size_t>(section.sh_name, names.size()));
    return name.substr(0, name.find('\0'));
  }
};

StatusOr<PartSections> AllSections(std::string_view cubin, const Elf64_Ehdr& header) {
  PartSections sections;
  for (uint32_t i = 0; i < header.e_shnum; ++i) {
    VS_ASSIGN_OR_RETURN(const Elf64_Shdr section, CubinSection(cubin, header, i));
    sections.all.push_back(section);
  }
  if (header.e_shstrndx < sections.all.size()) {
    const Elf64_Shdr& names = sections.all[header.e_shstrndx];
    sections.names = Part(cubin, names.sh_offset, names.sh_size);
  }
  return sections;
}

// Sections for debuggers and linkers, of all kernels together: a disassembler prints them, too.
bool IsForOthers(std::string_view name) {
  return name == ".nv.info" || name == ".nv.callgraph" || name.starts_with(".debug_") ||
         name.starts_with(".nv.capmerc") || name.starts_with(".nv.merc");
}

// Of each section whether it is left out.
std::vector<bool> LeftOut(const PartSections& sections, const std::vector<std::string>& others) {
  std::vector<bool> out(sections.all.size());
  for (size_t i = 0; i < out.size(); ++i) {
    std::string_view name = sections.NameOf(sections.all[i]);
    // That it is there says that a call of it is none of the driver's.
    out[i] = IsForOthers(name) || (absl::ConsumePrefix(&name, ".text.") && name != kEnds &&
                                   std::binary_search(others.begin(), others.end(), name));
  }
  // What belongs to those, and to what belongs to them.
  for (int round = 0; round < 2; ++round) {
    const std::vector<bool> before = out;
    for (size_t i = 0; i < out.size(); ++i) {
      const Elf64_Shdr& section = sections.all[i];
      const bool belongs = (section.sh_flags & SHF_INFO_LINK) != 0 || section.sh_type == SHT_RELA ||
                           section.sh_type == SHT_REL;
      // Functions stay, whatever else is said of them.
      if (sections.NameOf(section).starts_with(".text.")) continue;
      if (belongs && section.sh_info < out.size() && before[section.sh_info]) out[i] = true;
    }
  }
  return out;
}

// What stands in sections that are left out is from elsewhere, as the driver's functions are. It
// keeps its number and name.
void LeaveOutSymbols(const std::vector<bool>& out, size_t at, size_t size, std::string* part) {
  for (Elf64_Sym symbol; size >= sizeof(symbol); size -= sizeof(symbol), at += sizeof(symbol)) {
    std::memcpy(&symbol, part->data() + at, sizeof(symbol));
    if (symbol.st_shndx >= out.size() || !out[symbol.st_shndx]) continue;
    symbol.st_shndx = SHN_UNDEF;
    symbol.st_value = symbol.st_size = 0;
    std::memcpy(part->data() + at, &symbol, sizeof(symbol));
  }
}

}  // namespace

StatusOr<std::string> CubinPart(std::string_view cubin, const std::set<std::string>& kernels) {
  VS_ASSIGN_OR_RETURN(Elf64_Ehdr header, CubinHeader(cubin));
  VS_ASSIGN_OR_RETURN(PartSections sections, AllSections(cubin, header));
  VS_ASSIGN_OR_RETURN(std::vector<std::string> others, KernelsOfCubin(cubin));
  std::erase_if(others, [&kernels](const std::string& name) { return kernels.contains(name); });
  const std::vector<bool> out = LeftOut(sections, others);
  std::string part(sizeof(header), '\0');
  for (size_t i = 0; i < out.size(); ++i) {
    Elf64_Shdr& section = sections.all[i];
    if (out[i]) {
      section = Elf64_Shdr{.sh_name = section.sh_name, .sh_type = SHT_NULL};
      continue;
    }
    if (section.sh_type == SHT_NULL) continue;
    if (section.sh_type == SHT_NOBITS || section.sh_size == 0) {
      section.sh_offset = part.size();
      continue;
    }
    const std::string_view bytes = Part(cubin, section.sh_offset, section.sh_size);
    if (bytes.empty()) return absl::DataLossError("a cubin's sections are not there");
    part.resize((part.size() + kAlignment - 1) / kAlignment * kAlignment);
    section.sh_offset = part.size();
    part.append(bytes);
    if (section.sh_type == SHT_SYMTAB) {
      LeaveOutSymbols(out, section.sh_offset, section.sh_size, &part);
    }
    // Sections may overlap: without a bound a small file had gigabytes of them.
    if (part.size() > cubin.size() + out.size() * kAlignment) {
      return absl::DataLossError("a cubin's sections overlap");
    }
  }
  part.resize((part.size() + kAlignment - 1) / kAlignment * kAlignment);
  header.e_shoff = part.size();
  header.e_phoff = 0;
  header.e_phnum = 0;
  std::memcpy(part.data(), &header, sizeof(header));
  part.append(reinterpret_cast<const char*>(sections.all.data()),
              sections.all.size() * sizeof(Elf64_Shdr));
  return part;
}

}  // namespace vramspan::prove
