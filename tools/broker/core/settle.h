// What follows from an event: what the time has come for, and what is given, recalled and passed
// on.
#ifndef VRAMSPAN_TOOLS_BROKER_CORE_SETTLE_H_
#define VRAMSPAN_TOOLS_BROKER_CORE_SETTLE_H_

#include "tools/broker/core/action.h"
#include "tools/broker/core/state.h"

namespace vramspan::broker {

void Settle(State& state, Actions& actions);

}  // namespace vramspan::broker

#endif  // VRAMSPAN_TOOLS_BROKER_CORE_SETTLE_H_
