// A cubin with the code of some of its kernels alone: libraries have thousands in one, of which a
// program launches few, and a disassembler takes a second for each megabyte.
//
// Pure.
#ifndef VRAMSPAN_TOOLS_PROVE_CUBIN_PART_H_
#define VRAMSPAN_TOOLS_PROVE_CUBIN_PART_H_

#include <set>
#include <string>
#include <string_view>

#include "runtime/base/status.h"

namespace vramspan::prove {

// What is left out is the code of other kernels, and what belongs to that. Functions that are no
// kernels stay, so that what is called is what it was. DataLoss: it is no cubin, or its tables are
// wrong.
StatusOr<std::string> CubinPart(std::string_view cubin, const std::set<std::string>& kernels);

}  // namespace vramspan::prove

#endif  // VRAMSPAN_TOOLS_PROVE_CUBIN_PART_H_
