// Times for work of a recorded run that was not measured, from work like it that was: the recorder
// measures one launch in eight of a kernel that it knows (docs/trace-format.md).
#ifndef VRAMSPAN_TOOLS_REPLAY_FILL_TIMES_H_
#define VRAMSPAN_TOOLS_REPLAY_FILL_TIMES_H_

#include "tools/replay/recorded_run.h"

namespace vramspan::replay {

// Gives work without a time the median of what was measured of its code between the same codes,
// over the same memory or about as much; else between any. It starts as soon as it can, behind what
// its stream carried before, and ends before what was measured behind it starts: what is too long
// together for that is shortened together. Such work is `guessed`. Work whose code was never
// measured with its memory on the device is left as it is.
void FillTimes(RecordedRun* run);

}  // namespace vramspan::replay

#endif  // VRAMSPAN_TOOLS_REPLAY_FILL_TIMES_H_
