// What the machine code of kernels says of the addresses that they use.
//
// A kernel that takes no address from memory reaches only what its parameters name: each address is
// a parameter, or one of its module's variables, and an offset. vramspan reads all parameters, so
// it knows what its launches may touch. In C++ a pointer stays in its array whatever is added to
// it, and that is relied upon. So an offset may come from memory: an index of 32 bits, or scaled.
//
// Pure. Texts are parsed as from a stranger: what is not understood proves nothing.
#ifndef VRAMSPAN_TOOLS_PROVE_CODE_H_
#define VRAMSPAN_TOOLS_PROVE_CODE_H_

#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/parameter_ranges.h"

namespace vramspan::prove {

// What was read of one kernel's code.
struct KernelReading {
  std::string name;     // As the driver has it: mangled.
  bool proven = false;  // It takes no address from memory.
  std::string why;      // Else: the first instruction in doubt, in few words.
  // It is proven for launches whose parameters are so. None: for all.
  ParameterCases when = {};
};

// Reads the text of nvdisasm for one cubin.
std::vector<KernelReading> ReadKernels(std::string_view text);

}  // namespace vramspan::prove

#endif  // VRAMSPAN_TOOLS_PROVE_CODE_H_
