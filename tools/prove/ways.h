// Where threads go from an instruction that is no mere operation: branches, ends and barriers.
//
// Each thread is followed on its own. So it does not matter which of them go together, nor which
// barriers they wait at: only where each may go on.
//
// Pure.
#ifndef VRAMSPAN_TOOLS_PROVE_WAYS_H_
#define VRAMSPAN_TOOLS_PROVE_WAYS_H_

#include <vector>

#include "tools/prove/blocks.h"
#include "tools/prove/state.h"

namespace vramspan::prove {

struct Ways {
  std::vector<size_t> to;
  bool goes_on = true;  // With the next one, as well.
  std::string_view doubt;
};

// False: it is none of these, and nothing is done. `state` keeps where barriers lead.
bool FindWays(const SassInstruction& i, const Blocks& blocks, size_t at, State* state, Ways* ways);

}  // namespace vramspan::prove

#endif  // VRAMSPAN_TOOLS_PROVE_WAYS_H_
