// Copies and fills touch each byte once, so they are served where their memory lies: to move it
// would cross the bus as often. What holds nothing crosses it not at all when it moves. So chunks
// that a copy or a fill writes, and that hold nothing before, come to the device: else what is
// written would cross on the way out, and again when it is read there. Half of a chunk must be
// written for that: what leaves to make room for it may cross as well.
//
// A copy whose call returns when it is done has nothing fetched. Its thread is inside the driver
// until then, and what it hands to the driver cannot be mapped anew meanwhile.
//
// Pure: no clock, no lock.
#ifndef VRAMSPAN_RUNTIME_SCHEDULER_FILLED_CHUNKS_H_
#define VRAMSPAN_RUNTIME_SCHEDULER_FILLED_CHUNKS_H_

#include "runtime/scheduler/residency.h"
#include "runtime/scheduler/work.h"

namespace vramspan {

// No longer has those served where they lie (`wanted.in_place`), where all of them together are no
// larger than the room. Whether there are any.
bool FetchFilled(Work* work, const Residency& residency, Bytes room);

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_SCHEDULER_FILLED_CHUNKS_H_
