// What the machine code of kernels says of the addresses that they use. Pure.
#ifndef VRAMSPAN_TOOLS_PROVE_CODE_H_
#define VRAMSPAN_TOOLS_PROVE_CODE_H_

#include <string>
#include <string_view>
#include <vector>

namespace vramspan::prove {

// What was read of one kernel's code.
struct KernelReading {
  std::string name;     // As the driver has it: mangled.
  bool proven = false;  // It takes no address from memory.
  std::string why;      // Else: the first instruction in doubt, in few words.
};

// Reads the text of nvdisasm -c for one cubin.
std::vector<KernelReading> ReadKernels(std::string_view text);

}  // namespace vramspan::prove

#endif  // VRAMSPAN_TOOLS_PROVE_CODE_H_
