// Under which parameters a kernel takes no address from memory, if it may take one under others.
//
// Pure.
#ifndef VRAMSPAN_TOOLS_PROVE_CONDITIONS_H_
#define VRAMSPAN_TOOLS_PROVE_CONDITIONS_H_

#include <optional>

#include "runtime/base/parameter_ranges.h"
#include "tools/prove/sass_text.h"

namespace vramspan::prove {

// Ranges that hold for most launches, and no more of them than it takes. Nothing: none were found.
// `section` is one of `text`, `code` is its code, of which something is in doubt.
std::optional<ParameterRanges> FindConditions(const SassText& text, const SassSection& section,
                                              const SassCode& code);

}  // namespace vramspan::prove

#endif  // VRAMSPAN_TOOLS_PROVE_CONDITIONS_H_
