// Whether processes give back what is recalled, and what comes of those who do not.
//
//   steady -> recalling -> steady | partial | overdue -> fenced
//
// A process that answers too late, or gives what it is asked for after all, is steady again.
#ifndef VRAMSPAN_TOOLS_BROKER_CORE_OBEDIENCE_H_
#define VRAMSPAN_TOOLS_BROKER_CORE_OBEDIENCE_H_

#include "tools/broker/core/action.h"
#include "tools/broker/core/state.h"

namespace vramspan::broker {

bool AnyRecall(const Process& process);

// It gave back half of what was recalled or more. That of the host is no excuse for the device.
void Obeyed(const State& state, Process& process, Place place, Actions& actions);
// It answered, and gave less.
void Refused(const State& state, Process& process, Place place, Actions& actions);
// What the time has come for: deadlines, fences, paroles.
void CheckObedience(State& state, Actions& actions);
// It does not run: nothing is expected of it. What was recalled counts as overdue, since others use
// the link meanwhile; it has its time anew when it runs again.
void Suspend(Process& process);
void Resume(const State& state, Process& process);

}  // namespace vramspan::broker

#endif  // VRAMSPAN_TOOLS_BROKER_CORE_OBEDIENCE_H_
