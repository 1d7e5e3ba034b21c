// How far code was trusted, for launches of a recorded run that came before that was known: what is
// read of code while the program runs counts from the beginning of its next run.
#ifndef VRAMSPAN_TOOLS_REPLAY_FILL_TRUST_H_
#define VRAMSPAN_TOOLS_REPLAY_FILL_TRUST_H_

#include "tools/replay/recorded_run.h"

namespace vramspan::replay {

// Launches of a function, and of a graph, are trusted as far as the first that was trusted most is,
// if they come before that one, and none behind it is trusted less. Where one is, it goes by its
// arguments, or several functions have one name.
void FillTrust(RecordedRun* run);

}  // namespace vramspan::replay

#endif  // VRAMSPAN_TOOLS_REPLAY_FILL_TRUST_H_
