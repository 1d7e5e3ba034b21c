// Follows a kernel's instructions along all ways that they may take.
//
// Pure.
#ifndef VRAMSPAN_TOOLS_PROVE_FLOW_H_
#define VRAMSPAN_TOOLS_PROVE_FLOW_H_

#include <string>

#include "tools/prove/sass_text.h"

namespace vramspan::prove {

// Empty, or the first doubt that is found. `section` is one of `text`.
std::string FirstDoubt(const SassText& text, const SassSection& section);

}  // namespace vramspan::prove

#endif  // VRAMSPAN_TOOLS_PROVE_FLOW_H_
