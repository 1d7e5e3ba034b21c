// What one instruction does to what is known, and whether it is in doubt.
//
// Pure.
#ifndef VRAMSPAN_TOOLS_PROVE_OPERATIONS_H_
#define VRAMSPAN_TOOLS_PROVE_OPERATIONS_H_

#include "tools/prove/effect.h"

namespace vramspan::prove {

// False, and in doubt: for an address that it uses, or for what it does.
bool Operate(Effect& effect);

}  // namespace vramspan::prove

#endif  // VRAMSPAN_TOOLS_PROVE_OPERATIONS_H_
