// Whether code may reach shared and local memory as all other memory is reached: by the addresses
// of their windows.
//
// Such an address is made of what the driver put before the parameters, or of a special register.
// Code that takes neither has none, for no host can give it one: then what is stored by the address
// of a parameter goes to global memory.
//
// Pure.
#ifndef VRAMSPAN_TOOLS_PROVE_WINDOWS_H_
#define VRAMSPAN_TOOLS_PROVE_WINDOWS_H_

#include "tools/prove/effect.h"
#include "tools/prove/sass_text.h"

namespace vramspan::prove {

bool MayTakeWindows(const SassCode& code, const Machine& machine);

}  // namespace vramspan::prove

#endif  // VRAMSPAN_TOOLS_PROVE_WINDOWS_H_
