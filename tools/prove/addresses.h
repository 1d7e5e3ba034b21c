// Which addresses of global memory an instruction uses, and whether one is from memory.
#ifndef VRAMSPAN_TOOLS_PROVE_ADDRESSES_H_
#define VRAMSPAN_TOOLS_PROVE_ADDRESSES_H_

#include "tools/prove/effect.h"

namespace vramspan::prove {

// The operand in brackets of that number, from 0 on; null if there are fewer.
const SassOperand* AddressOperand(const Effect& effect, size_t number);

// False, and in doubt, unless the address of that number is a parameter's or of the module.
bool CheckAddress(Effect& effect, size_t number);

// False, and in doubt, unless the tensor map is a parameter itself: its address is a constant.
bool CheckTensorMap(Effect& effect);

}  // namespace vramspan::prove

#endif  // VRAMSPAN_TOOLS_PROVE_ADDRESSES_H_
