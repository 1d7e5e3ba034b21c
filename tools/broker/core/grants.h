// Gives free memory out: room for contexts first, then to who is short, then to everybody.
//
// Guarantees come first, the innermost before those around. Then the winner is whose grant is the
// least for its weight, as in GPUswap; so free memory goes to all of them evenly. Nobody is given
// what it just gave back.
#ifndef VRAMSPAN_TOOLS_BROKER_CORE_GRANTS_H_
#define VRAMSPAN_TOOLS_BROKER_CORE_GRANTS_H_

#include "runtime/base/units.h"
#include "tools/broker/core/action.h"
#include "tools/broker/core/state.h"

namespace vramspan::broker {

// Tells the process its grant as it is now.
void TellGrant(Process& process, Place place, Actions& actions);
// Grants so much more, and says so. REQUIRES: the bytes are free.
void Raise(Process& process, Place place, Bytes bytes, Actions& actions);

// What the process claims without proof is granted as far as it is free, and no more than its share
// by weights. It is taken for used, and the process is told. REQUIRES: all who have proof are
// there.
void Believe(const State& state, Process& process, Actions& actions);

// Answers those who wait for room: with room if there is some and it may be given, of the reserve
// as well; with a refusal when they have waited too long.
void AnswerRooms(State& state, bool may_give, Actions& actions);
// Grants free memory to those a chunk or more below their target. REQUIRES: targets are worked out.
void GiveToShort(State& state, Place place, Actions& actions);
// Whoever was granted nothing yet hears that, and need not wait for more.
void TellNewcomers(State& state, Actions& actions);
// Lends what is left then to everybody, as far as it is a chunk or more.
void Lend(State& state, Place place, Actions& actions);

}  // namespace vramspan::broker

#endif  // VRAMSPAN_TOOLS_BROKER_CORE_GRANTS_H_
