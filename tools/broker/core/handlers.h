// What each event changes by itself. What follows for others is decided behind it (settle.h).
#ifndef VRAMSPAN_TOOLS_BROKER_CORE_HANDLERS_H_
#define VRAMSPAN_TOOLS_BROKER_CORE_HANDLERS_H_

#include "tools/broker/core/action.h"
#include "tools/broker/core/event.h"
#include "tools/broker/core/state.h"

namespace vramspan::broker {

// on_tenants.cc
void On(State& state, const TenantAppears& event, Actions& actions);
void On(State& state, const TenantLeaves& event, Actions& actions);
void On(State& state, const PolicyChanges& event, Actions& actions);
void On(State& state, const TenantDrains& event, Actions& actions);
void On(State& state, const ProcessDrains& event, Actions& actions);
// on_machine.cc
void On(State& state, const CapacityIs& event, Actions& actions);
void On(State& state, const ForeignIs& event, Actions& actions);
void On(State& state, const TimePasses& event, Actions& actions);
// on_arrival.cc
void On(State& state, const Joins& event, Actions& actions);
void On(State& state, const Restarts& event, Actions& actions);
void On(State& state, const Adopts& event, Actions& actions);
// on_word.cc
void On(State& state, const Says& event, Actions& actions);
void On(State& state, const WantsRoom& event, Actions& actions);
void On(State& state, const ReturnsRoom& event, Actions& actions);
// on_answer.cc
void On(State& state, const Acknowledges& event, Actions& actions);
// on_health.cc
void On(State& state, const Dies& event, Actions& actions);
void On(State& state, const BytesGone& event, Actions& actions);
void On(State& state, const IsStuck& event, Actions& actions);
void On(State& state, const Beats& event, Actions& actions);
void On(State& state, const Measured& event, Actions& actions);

}  // namespace vramspan::broker

#endif  // VRAMSPAN_TOOLS_BROKER_CORE_HANDLERS_H_
