// Guarantees that nobody above its target can meet: the host is full, so a victim has nowhere to
// put what it should give. Then those give who are at their targets, and above their own
// guarantees.
//
// Targets stay as they are. So the giver is short from then on, and comes to have what is due to it
// once the victim can evict. Nobody is asked for more than a guarantee lacks, nor below its own: no
// byte goes back and forth.
#ifndef VRAMSPAN_TOOLS_BROKER_CORE_GUARANTEES_H_
#define VRAMSPAN_TOOLS_BROKER_CORE_GUARANTEES_H_

#include "tools/broker/core/action.h"
#include "tools/broker/core/state.h"

namespace vramspan::broker {

// REQUIRES: targets are worked out for both places, and all was asked of those above them.
void RecallForGuarantees(State& state, Actions& actions);

}  // namespace vramspan::broker

#endif  // VRAMSPAN_TOOLS_BROKER_CORE_GUARANTEES_H_
