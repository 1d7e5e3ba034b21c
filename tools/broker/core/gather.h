// Memory that came free otherwise than by a recall is gathered for a while, and given out at once:
// programs free in bursts.
#ifndef VRAMSPAN_TOOLS_BROKER_CORE_GATHER_H_
#define VRAMSPAN_TOOLS_BROKER_CORE_GATHER_H_

#include "runtime/base/units.h"
#include "tools/broker/core/state.h"

namespace vramspan::broker {

// More may be free now than `before`.
void GatherFreed(State& state, Place place, Bytes before);
void EndGathering(State& state, Place place);
// Ends the keeping of rooms that were returned long enough ago.
void EndKeeping(State& state);
// What of the free memory may be given out.
Bytes ToGive(const State& state, Place place);
// Host memory that no target has, but by a guarantee or for a victim, and that is not lent. Who
// wants host memory may have it until what was lent comes back.
Bytes Kept(const State& state, Place place);

// The room has shrunk, or may have, for a cause outside: what is held beyond it is excused.
void NoteExcess(State& state, Place place);
// Less may be held beyond it now: no more than that is excused from here on.
void LowerExcess(State& state, Place place);

}  // namespace vramspan::broker

#endif  // VRAMSPAN_TOOLS_BROKER_CORE_GATHER_H_
