// Which function a call by a register reaches.
//
// Pure.
#ifndef VRAMSPAN_TOOLS_PROVE_CALLEE_H_
#define VRAMSPAN_TOOLS_PROVE_CALLEE_H_

#include "tools/prove/blocks.h"

namespace vramspan::prove {

// The name, where the address was taken from bank 4 just before; empty else. `call` is the number
// of an instruction whose first operand is a register.
std::string_view CalleeOf(const SassText& text, const SassCode& code, const Blocks& blocks,
                          size_t call);

}  // namespace vramspan::prove

#endif  // VRAMSPAN_TOOLS_PROVE_CALLEE_H_
