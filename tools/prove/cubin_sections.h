// The sections of a cubin. Pure.
#ifndef VRAMSPAN_TOOLS_PROVE_CUBIN_SECTIONS_H_
#define VRAMSPAN_TOOLS_PROVE_CUBIN_SECTIONS_H_

#include <elf.h>

#include <cstdint>
#include <string_view>

#include "runtime/base/status.h"
#include "tools/prove/fat_format.h"
#include "tools/prove/field.h"

namespace vramspan::prove {

// DataLoss: it is no cubin.
inline StatusOr<Elf64_Ehdr> CubinHeader(std::string_view cubin) {
  Elf64_Ehdr header;
  if (!cubin.starts_with(kElfBegin) || !ReadField(cubin, 0, &header) ||
      header.e_machine != kCudaMachine || header.e_shentsize != sizeof(Elf64_Shdr)) {
    return absl::DataLossError("it is no cubin");
  }
  return header;
}

// DataLoss: there is none of that number.
inline StatusOr<Elf64_Shdr> CubinSection(std::string_view cubin, const Elf64_Ehdr& header,
                                         uint32_t number) {
  Elf64_Shdr section;
  if (number >= header.e_shnum || header.e_shoff > cubin.size() ||
      !ReadField(cubin, header.e_shoff + uint64_t{number} * sizeof(section), &section)) {
    return absl::DataLossError("a cubin's sections are not there");
  }
  return section;
}

}  // namespace vramspan::prove

#endif  // VRAMSPAN_TOOLS_PROVE_CUBIN_SECTIONS_H_
