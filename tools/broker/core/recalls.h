// Recalls memory from those above their target: for who is hungry, for room, and where more is held
// than there is room for.
#ifndef VRAMSPAN_TOOLS_BROKER_CORE_RECALLS_H_
#define VRAMSPAN_TOOLS_BROKER_CORE_RECALLS_H_

#include "runtime/base/units.h"
#include "tools/broker/core/action.h"
#include "tools/broker/core/event.h"
#include "tools/broker/core/state.h"

namespace vramspan::broker {

// Who is hungry: below its guarantee by a chunk, or below its target by a chunk and the hysteresis,
// or by a chunk for long. It stays so until it lacks less than a chunk.
void SetHungry(State& state, Place place);

// What the hungry lack, and those who wait for room, and what is held beyond the room; less what is
// free or on its way.
Bytes Lacking(const State& state, Place place);

// What the process has to give back though memory is free: what a tenant around it holds above its
// limit, or would if the hungry inside were served; or what it holds above its share by weight, if
// it was seen to hold more than it was granted; or all of the device that it was granted, if it
// drains.
Bytes Owed(const State& state, const Process& process, Place place);

// What of the recall an answer gave back.
Bytes GivenBack(const Acknowledges& answer, const Recall& recall);

// Asks the process for what it can give of `need` bytes, and of the `most` that it may lose. Says
// how much that is.
Bytes Ask(State& state, Process& process, Place place, Bytes most, Bytes need, Actions& actions);

// REQUIRES: targets are worked out.
void RecallForOthers(State& state, Place place, Actions& actions);

}  // namespace vramspan::broker

#endif  // VRAMSPAN_TOOLS_BROKER_CORE_RECALLS_H_
