// The broker's decisions: an event goes in, actions come out. The same events at the same instants
// give the same actions.
//
// Pure: no clock, no lock, no thread, no input or output. One owner.
#ifndef VRAMSPAN_TOOLS_BROKER_CORE_DECIDE_H_
#define VRAMSPAN_TOOLS_BROKER_CORE_DECIDE_H_

#include <optional>

#include "runtime/base/units.h"
#include "tools/broker/core/action.h"
#include "tools/broker/core/event.h"
#include "tools/broker/core/state.h"

namespace vramspan::broker {

// An event whose instant lies before the last one's counts as of the last one's. Whatever a process
// says, or says in the wrong order, harms nobody but itself.
Actions Decide(State& state, const Event& event);

// By when there is something to decide though nothing happens: TimePasses, then. None: never.
std::optional<Instant> Due(const State& state);

}  // namespace vramspan::broker

#endif  // VRAMSPAN_TOOLS_BROKER_CORE_DECIDE_H_
