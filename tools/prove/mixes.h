// What is made of several values: which of them gives the upper half of an address.
//
// The upper half of a sum is that of the summand that is an address: what a carry or a sign adds is
// an offset. So is the upper half of a product, and of a shifted number: nobody multiplies
// addresses. All of this relies on pointers being used as C++ has it, that is within their arrays.
#ifndef VRAMSPAN_TOOLS_PROVE_MIXES_H_
#define VRAMSPAN_TOOLS_PROVE_MIXES_H_

#include "tools/prove/effect.h"

namespace vramspan::prove {

void Mix(Effect& effect);

}  // namespace vramspan::prove

#endif  // VRAMSPAN_TOOLS_PROVE_MIXES_H_
