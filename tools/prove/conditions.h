// Under which parameters a kernel takes no address from memory, if it may take one under others.
//
// Pure.
#ifndef VRAMSPAN_TOOLS_PROVE_CONDITIONS_H_
#define VRAMSPAN_TOOLS_PROVE_CONDITIONS_H_

#include "runtime/base/parameter_ranges.h"
#include "tools/prove/sass_text.h"

namespace vramspan::prove {

// Cases of which each proves it, with no more ranges than that takes; not all such cases. None:
// none was found. `section` is one of `text`, `code` is its code, of which something is in doubt.
ParameterCases FindConditions(const SassText& text, const SassSection& section,
                              const SassCode& code);

}  // namespace vramspan::prove

#endif  // VRAMSPAN_TOOLS_PROVE_CONDITIONS_H_
