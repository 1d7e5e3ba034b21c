// Loads and stores of local memory: arrays of threads, and what a compiler spills.
#ifndef VRAMSPAN_TOOLS_PROVE_STACK_H_
#define VRAMSPAN_TOOLS_PROVE_STACK_H_

#include "tools/prove/effect.h"

namespace vramspan::prove {

void LoadLocal(Effect& effect);
void StoreLocal(Effect& effect);

}  // namespace vramspan::prove

#endif  // VRAMSPAN_TOOLS_PROVE_STACK_H_
