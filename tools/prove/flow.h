// Follows a kernel's instructions along all ways that they may take.
//
// Pure.
#ifndef VRAMSPAN_TOOLS_PROVE_FLOW_H_
#define VRAMSPAN_TOOLS_PROVE_FLOW_H_

#include <string>
#include <vector>

#include "runtime/base/parameter_ranges.h"
#include "tools/prove/sass_text.h"

namespace vramspan::prove {

struct Followed {
  std::string doubt;  // The first that was found; empty: there is none.
  // Where words of the parameters lie in launches that go one way, up to there; those in which they
  // do not go another one. Without what is assumed, and what follows from that.
  std::vector<ParameterRange> tests = {};
};

// `assumed`: of the parameters. Null: words of the parameters are not followed, which is faster.
Followed Follow(const SassText& text, const SassCode& code, const ParameterRanges* assumed);

}  // namespace vramspan::prove

#endif  // VRAMSPAN_TOOLS_PROVE_FLOW_H_
