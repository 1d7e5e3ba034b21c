#include "tools/prove/kernel_names.h"

#include <absl/strings/ascii.h>
#include <elf.h>

#include <algorithm>
#include <cstring>

#include "tools/prove/cubin_sections.h"
#include "tools/prove/field.h"

namespace vramspan::prove {
namespace {

constexpr unsigned char kKernel = 0x10;  // Of st_other, in cubins.

Status Wrong(std::string_view why) { return absl::DataLossError(why); }

// Names of kernels in a table of symbols.
Status AddKernels(std::string_view symbols, std::string_view texts,
                  std::vector<std::string>* kernels) {
  for (; symbols.size() >= sizeof(Elf64_Sym); symbols.remove_prefix(sizeof(Elf64_Sym))) {
    Elf64_Sym symbol;
    ReadField(symbols, 0, &symbol);
    if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || (symbol.st_other & kKernel) == 0 ||
        symbol.st_shndx == SHN_UNDEF) {
      continue;
    }
    const std::string_view name = texts.substr(std::min<size_t>(symbol.st_name, texts.size()));
    const size_t end = name.find('\0');
    if (end == 0 || end == std::string_view::npos) return Wrong("a kernel has no name");
    // Names may overlap: without a bound a small file had gigabytes of them.
    if (end > kMostNameBytes || kernels->size() >= kMostKernels) {
      return Wrong("there are too many kernels, or their names are too long");
    }
    kernels->emplace_back(name.substr(0, end));
  }
  return absl::OkStatus();
}

}  // namespace

StatusOr<std::vector<std::string>> KernelsOfCubin(std::string_view cubin) {
  VS_ASSIGN_OR_RETURN(const Elf64_Ehdr header, CubinHeader(cubin));
  std::vector<std::string> kernels;
  for (uint32_t i = 0; i < header.e_shnum; ++i) {
    VS_ASSIGN_OR_RETURN(const Elf64_Shdr table, CubinSection(cubin, header, i));
    if (table.sh_type != SHT_SYMTAB) continue;
    VS_ASSIGN_OR_RETURN(const Elf64_Shdr names, CubinSection(cubin, header, table.sh_link));
    const std::string_view symbols = Part(cubin, table.sh_offset, table.sh_size);
    const std::string_view texts = Part(cubin, names.sh_offset, names.sh_size);
    if (symbols.empty() || texts.empty()) return Wrong("a cubin's symbols are not there");
    VS_RETURN_IF_ERROR(AddKernels(symbols, texts, &kernels));
  }
  std::sort(kernels.begin(), kernels.end());
  kernels.erase(std::unique(kernels.begin(), kernels.end()), kernels.end());
  return kernels;
}

bool IsRelocatable(std::string_view cubin) {
  Elf64_Ehdr header;
  return ReadField(cubin, 0, &header) && header.e_type == ET_REL;
}

std::vector<std::string> KernelsOfPtx(std::string_view ptx) {
  constexpr std::string_view kEntry = ".entry";
  std::vector<std::string> kernels;
  for (size_t at = ptx.find(kEntry); at != std::string_view::npos; at = ptx.find(kEntry, at)) {
    at += kEntry.size();
    size_t from = at;
    while (from < ptx.size() && absl::ascii_isspace(static_cast<unsigned char>(ptx[from]))) ++from;
    size_t end = from;
    const auto in_name = [](char c) {
      return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$' || c == '%';
    };
    while (end < ptx.size() && in_name(ptx[end])) ++end;
    if (end > from && from > at) kernels.emplace_back(ptx.substr(from, end - from));
  }
  std::sort(kernels.begin(), kernels.end());
  kernels.erase(std::unique(kernels.begin(), kernels.end()), kernels.end());
  return kernels;
}

}  // namespace vramspan::prove
