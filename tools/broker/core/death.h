// The end of processes: their memory counts until the driver no longer shows it.
#ifndef VRAMSPAN_TOOLS_BROKER_CORE_DEATH_H_
#define VRAMSPAN_TOOLS_BROKER_CORE_DEATH_H_

#include "tools/broker/core/action.h"
#include "tools/broker/core/state.h"

namespace vramspan::broker {

// What it held is free. REQUIRES: it is there.
void Forget(State& state, ProcessId id, Actions& actions);
// Forgets the dead of whose bytes nobody saw anything for a while. If they are there yet, they are
// foreign use.
void ForgetTheLongDead(State& state, Actions& actions);

}  // namespace vramspan::broker

#endif  // VRAMSPAN_TOOLS_BROKER_CORE_DEATH_H_
